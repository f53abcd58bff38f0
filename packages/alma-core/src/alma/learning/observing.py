"""What one more outcome makes of the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from alma.evidence import Tally, observed
from alma.text import cleaned
from alma.types.evidence import Evidence, Happening
from alma.types.kinds import Verdict
from alma.types.memories import Outcome

WORTH = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}
"""How much of a success a verdict is. An ending that nobody judged is none at all: it is counted apart, and decides nothing."""

BURST = 5
BURST_MICROS = 60_000_000
"""Of equal events beyond so many in such a time, only the lifetime counts take notice."""

MOST_REASONS = 8
REASON_CHARS = 400


@dataclass(frozen=True, slots=True)
class Observation:
    """One outcome as evidence sees it. `at` is when it happened, `told` when it was recorded, in microseconds."""

    verdict: Verdict
    event: str
    error: str | None
    at: int
    told: int

    @classmethod
    def of(cls, outcome: Outcome, *, at: int, told: int) -> "Observation":
        """What an outcome says. Two are the same event if task, strategy and verdict are, and the error but for what varies in it."""
        said = "\0".join((outcome.task_description, outcome.strategy_used, outcome.outcome, cleaned(outcome.error_message or "")))
        error = outcome.error_message or outcome.user_feedback
        event = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return cls(outcome.outcome, event, error if outcome.outcome is not Verdict.SUCCESS else None, at, told)


def with_observation(evidence: Evidence, seen: Observation) -> Evidence:
    """The evidence with one more outcome."""
    is_judged = evidence.lifetime.trials > 0
    newest = max(evidence.observed_at, seen.at)
    if seen.verdict is Verdict.UNVERIFIED:  # where something was judged, the operative counts are as of then
        observed_at = evidence.observed_at if is_judged else newest
        return replace(evidence, unverified=evidence.unverified + 1, observed_at=observed_at)
    worth = WORTH[seen.verdict]
    recent, is_repeated = _noted_event(evidence.recent, seen)
    elapsed = seen.at - evidence.observed_at if is_judged else 0
    return replace(
        evidence,
        lifetime=evidence.lifetime.plus(worth),
        operative=evidence.operative if is_repeated else observed(evidence.operative, worth, elapsed=elapsed),
        observed_at=newest if is_judged else seen.at,
        recent=recent,
        reasons=noted_reason(evidence.reasons, seen.error, seen.at),
    )


def counted(whole: Evidence, seen: Observation) -> Evidence:
    """The evidence on a whole class with one more outcome: its lifetime counts alone say anything."""
    at = max(whole.observed_at, seen.at)
    if seen.verdict is Verdict.UNVERIFIED:
        return replace(whole, unverified=whole.unverified + 1, observed_at=at)
    return replace(whole, lifetime=whole.lifetime.plus(WORTH[seen.verdict]), observed_at=at)


def corrected(evidence: Evidence, was: Verdict, now: Verdict, newest: Sequence[tuple[Verdict, int]] | None) -> Evidence:
    """The evidence after a verdict was set or changed. `newest` are the verdicts that it then rests on, with their times, oldest first.

    Without them the operative counts stay: of a class as a whole they decide nothing.
    """
    lifetime, unverified = evidence.lifetime, evidence.unverified
    if was is Verdict.UNVERIFIED:
        unverified = max(unverified - 1, 0)
    else:
        lifetime = Tally(max(lifetime.successes - WORTH[was], 0.0), max(lifetime.trials - 1, 0.0))
    if now is Verdict.UNVERIFIED:
        unverified += 1
    else:
        lifetime = lifetime.plus(WORTH[now])
    operative, at = (evidence.operative, None) if newest is None else _replayed(newest)
    at = evidence.observed_at if at is None else at
    return replace(evidence, lifetime=lifetime, unverified=unverified, operative=operative, observed_at=at)


def _replayed(verdicts: Sequence[tuple[Verdict, int]]) -> tuple[Tally, int | None]:
    """The operative counts that follow from verdicts, and of what time they are; `None` if none was judged."""
    operative, last = Tally(), None
    for verdict, at in verdicts:
        if verdict is not Verdict.UNVERIFIED:
            operative = observed(operative, WORTH[verdict], elapsed=0 if last is None else at - last)
            last = at if last is None else max(last, at)
    return operative, last


def noted_reason(reasons: Sequence[Happening], error: str | None, at: int) -> tuple[Happening, ...]:
    """The reasons with one more, told apart by their text without what varies; those seen least lately go when there are too many."""
    if not error:
        return tuple(reasons)
    text = cleaned(error)[:REASON_CHARS]
    counts = {what: (count, last) for what, count, last in reasons}
    count, last = counts.get(text, (0, at))
    counts[text] = count + 1, max(last, at)
    kept = sorted(counts.items(), key=lambda reason: (reason[1][0], reason[1][1]), reverse=True)[:MOST_REASONS]
    if text not in dict(kept):
        kept[-1] = (text, counts[text])
    return tuple((what, count, last) for what, (count, last) in kept)


def _noted_event(recent: Sequence[Happening], seen: Observation) -> tuple[tuple[Happening, ...], bool]:
    """The unbroken run of equal events that this one ends, and whether it was long enough before, in too short a time.

    Anything else that happens to the strategy breaks a run: of frequent successes and rare failures, none is counted less than it weighs.
    """
    event, count, since = recent[-1] if recent else (seen.event, 0, seen.told)
    if event != seen.event or not 0 <= seen.told - since < BURST_MICROS:
        return ((seen.event, 1, seen.told),), False
    return ((event, count + 1, since),), count >= BURST
