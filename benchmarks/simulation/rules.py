"""The rules of ALMA without its storage, for more trials than a database is asked to hold; and the plain thresholds that others use.

What `Class` says is what the public calls say of the same events: `false_rules.agreement` shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from alma.evidence import Tally, observed, rest
from alma.learning.standing import Needed, Standing, as_anti_pattern, as_heuristic, changed

BETWEEN_MICROS = 10 * 60 * 1_000_000
NAIVE_SUCCESSES, NAIVE_FAILURES = 3, 2
HOLDING = (Standing.CANDIDATE, Standing.PROVEN)


@dataclass(slots=True)
class Tried:
    """One strategy: its counts, and how its rules stand and ever stood."""

    lifetime: Tally = field(default_factory=Tally)
    operative: Tally = field(default_factory=Tally)
    last: int = 0
    heuristic: Standing | None = None
    anti_pattern: Standing | None = None
    ever: set[tuple[str, Standing]] = field(default_factory=set)

    @property
    def is_naive_heuristic(self) -> bool:
        """Whether three successes have made a heuristic of it, for good."""
        return self.lifetime.successes >= NAIVE_SUCCESSES

    @property
    def is_naive_anti_pattern(self) -> bool:
        """Whether two failures have made an anti-pattern of it, for good."""
        return self.lifetime.failures >= NAIVE_FAILURES


class Class:
    """The strategies of one class of tasks, judged after every outcome."""

    def __init__(self, strategies: int) -> None:
        self.tried = [Tried() for _ in range(strategies)]
        self._whole = Tally()
        self._now = 0

    def observe(self, place: int, won: bool) -> None:
        """Counts an outcome, ten minutes after the last one, and judges all strategies anew."""
        self._now += BETWEEN_MICROS
        one = self.tried[place]
        elapsed = self._now - one.last if one.lifetime.trials else 0
        one.operative = observed(one.operative, float(won), elapsed=elapsed)
        one.lifetime = one.lifetime.plus(float(won))
        one.last = self._now
        self._whole = self._whole.plus(float(won))
        for other in self.tried:
            self._judge(other)

    def observe_all(self, events: Sequence[tuple[int, bool]]) -> None:
        """Counts outcomes in order."""
        for place, won in events:
            self.observe(place, won)

    def _judge(self, one: Tried) -> None:
        own = one.lifetime
        against = rest(self._whole.successes - own.successes, self._whole.trials - own.trials)
        one.heuristic = changed(one.heuristic, as_heuristic(own, one.operative, against, Needed()))
        one.anti_pattern = changed(one.anti_pattern, as_anti_pattern(own, one.operative, against, Needed()))
        one.ever |= {(what, now) for what, now in (("heuristic", one.heuristic), ("anti_pattern", one.anti_pattern)) if now}
