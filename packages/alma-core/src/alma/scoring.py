"""The four factors of a score, each in [0, 1], whose weights add up to 1, and the multiplier for measured usefulness."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from alma.errors import ValidationError
from alma.text import quoted

FACTORS = ("similarity", "recency", "success", "confidence")
RECALL_WEIGHTS: Mapping[str, float] = {"similarity": 1.0, "recency": 0.0, "success": 0.0, "confidence": 0.0}
DEFAULT_HALF_LIFE_DAYS = 30.0
LARGEST_WEIGHT = 1_000_000

DAY = 86_400_000_000  # microseconds
_FAILURE_WORTH = 0.7

USEFULNESS_EFFECT = 0.25
"""Usefulness changes a score by a quarter at most, either way: it reorders memories that are about equally near, and never hides a near
one."""

_PRIOR = 2.0
_USE = 0.5
_THUMB = 3.0


@dataclass(frozen=True, slots=True)
class Profile:
    """The weights of the factors, and how fast recency fades. `kinds` has the weights of kinds that define their own.

    Without `counts_usefulness`, measured usefulness does not affect a score.
    """

    weights: Mapping[str, float]
    half_life_days: float = DEFAULT_HALF_LIFE_DAYS
    counts_usefulness: bool = True
    kinds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, weights: Mapping[str, float], half_life_days: float = DEFAULT_HALF_LIFE_DAYS) -> "Profile":
        """Returns a profile with the weights scaled to a sum of 1; factors not named weigh 0. `ValidationError` for bad weights."""
        if not isinstance(weights, Mapping):
            raise ValidationError(f"weights must be a mapping from factor to number, not {type(weights).__name__}")
        for factor in weights:
            if factor not in FACTORS:
                raise ValidationError(f"there is no factor {quoted(factor)} to weigh; there are {', '.join(FACTORS)}")
        if not all(map(_is_weight, weights.values())) or not any(weights.values()):
            raise ValidationError("weights must be numbers from 0 to a million, not all 0")
        total = sum(weights.values())
        return cls({factor: weights.get(factor, 0.0) / total for factor in FACTORS}, half_life_days)

    def with_kinds(self, weights: Mapping[str, Mapping[str, float]]) -> "Profile":
        """Returns the same profile, with weights of their own for some kinds. `ValidationError` for bad weights."""
        return replace(self, kinds={kind: Profile.of(given).weights for kind, given in weights.items()})

    def weights_of(self, kind: str) -> Mapping[str, float]:
        """Returns the weights for memories of a kind."""
        return self.kinds.get(kind, self.weights)

    def score(self, factors: Mapping[str, float], kind: str = "") -> float:
        """Returns the weighted sum of the factors, in [0, 1]."""
        weights = self.kinds.get(kind, self.weights)
        return (  # written out: a generator takes four times as long, and this is done for each contender
            weights["similarity"] * factors["similarity"]
            + weights["recency"] * factors["recency"]
            + weights["success"] * factors["success"]
            + weights["confidence"] * factors["confidence"]
        )


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_WEIGHT


def recency(seen_at: int, now: int, half_life_days: float) -> float:
    """Returns `0.5 ** (age / half-life)`: 1 for a memory just seen (or seen in the future), towards 0 with age. Times in microseconds."""
    return float(0.5 ** ((now - seen_at) / DAY / half_life_days)) if now > seen_at else 1.0


def success(kind: str, successes: float | None, trials: float | None) -> float:
    """Returns the success factor of a memory.

    A heuristic: the mean of a Beta(1, 1) prior after its record, `(s + 1) / (n + 2)`. An outcome: 1 for a success, 0.7 for a failure,
    since a failure and its reason are nearly as informative, between for what lies between. An anti-pattern: `n / (n + 1)`, how
    established the warning is. Other kinds, which have no record: 1.
    """
    if kind == "outcome":
        return _FAILURE_WORTH + (1 - _FAILURE_WORTH) * (0.5 if successes is None else successes)
    if successes is None or trials is None:
        return 1.0
    if kind == "anti_pattern":
        return trials / (trials + 1)
    return (successes + 1) / (trials + 2)


def usefulness(
    used: float,
    ignored: float,
    thumbs_up: float,
    thumbs_down: float,
    credited_successes: float,
    credited_trials: float,
) -> float:
    """Returns the multiplier of a score for measured usefulness: from 0.75 to 1.25, exactly 1 without any data.

    `1 + 0.25 * (2 * m - 1)`, where `m = (2 + good) / (4 + good + bad)` is the mean of a Beta(2, 2) prior after the counts. Being used, or
    ignored in favour of another, counts half: it shows what an agent took up, not whether that helped. The outcome of an attempt in which
    it was used counts whole, so that a memory that is used and fails loses. A thumb counts three: a person judged this very memory, which
    attempts never do.
    """
    good = _USE * used + credited_successes + _THUMB * thumbs_up
    bad = _USE * ignored + max(credited_trials - credited_successes, 0.0) + _THUMB * thumbs_down
    mean = (_PRIOR + good) / (2 * _PRIOR + good + bad)
    return 1 + USEFULNESS_EFFECT * (2 * mean - 1)


def weight_of_use(
    used: float,
    ignored: float,
    thumbs_up: float,
    thumbs_down: float,
    credited_successes: float,
    credited_trials: float,
) -> float:
    """Returns the amount of usefulness data of a memory: the sum of its good and bad counts."""
    return _USE * (used + ignored) + max(credited_trials, credited_successes) + _THUMB * (thumbs_up + thumbs_down)
