"""What one more outcome makes of the evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import sha256

from alma.evidence import Tally, observed
from alma.text import cleaned
from alma.types.evidence import WHOLE_CLASS, Evidence, Happening, evidence_id, own_class, text_key
from alma.types.identity import to_micros
from alma.types.kinds import Verdict
from alma.types.memories import Outcome
from alma.types.soundness import MOST_REASONS, REASON_CHARS

WORTH = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}
"""How much of a success a verdict is. An ending that nobody judged is none at all: it is counted apart, and decides nothing."""

BURST = 5
BURST_MICROS = 60_000_000
"""Of equal events beyond so many in such a time, only the lifetime counts take notice."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One outcome as evidence sees it. `at` is when it happened, in microseconds."""

    verdict: Verdict
    event: str
    error: str | None
    at: int

    @classmethod
    def of(cls, outcome: Outcome, *, told: int) -> "Observation":
        """What an outcome says that was recorded at `told`: it did not happen later than that.

        Two are the same event if task, strategy and verdict are, and the error but for what varies in it.
        """
        said = "\0".join((outcome.task_description, outcome.strategy_used, outcome.outcome, cleaned(outcome.error_message or "")))
        error = outcome.error_message or outcome.user_feedback
        event = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        at = min(to_micros(outcome.timestamp), told)
        return cls(outcome.outcome, event, error if outcome.outcome is not Verdict.SUCCESS else None, at)


def only(outcome: Outcome, task: str, *, is_step: bool) -> Evidence:
    """The evidence that the first outcome of a class is. Nothing is stored of it until there is another, for the outcome says it all."""
    task_class = own_class(outcome.task_type, task, is_step=is_step)
    hashed = text_key(outcome.strategy_used) if outcome.strategy_used else WHOLE_CLASS
    evidence = evidence_id(outcome.agent, task_class, hashed)
    blank = Evidence(evidence, outcome.agent, task_class, hashed, outcome.strategy_used, task=task)
    seen = Observation.of(outcome, told=to_micros(outcome.created_at))
    return with_observation(blank, seen) if hashed else counted(blank, seen)


def until(evidence: Evidence, now: int) -> Evidence:
    """The evidence, observed no later than now: what claims to be of the future would outweigh all that is yet to come."""
    return evidence if evidence.observed_at <= now else replace(evidence, observed_at=now)


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


def recounted(evidence: Evidence, was: Verdict, now: Verdict) -> Evidence:
    """The evidence after a verdict was set or changed, as far as every outcome counts for ever."""
    lifetime, unverified = evidence.lifetime, evidence.unverified
    if was is Verdict.UNVERIFIED:
        unverified = max(unverified - 1, 0)
    else:
        lifetime = Tally(max(lifetime.successes - WORTH[was], 0.0), max(lifetime.trials - 1, 0.0))
    if now is Verdict.UNVERIFIED:
        unverified += 1
    else:
        lifetime = lifetime.plus(WORTH[now])
    return replace(evidence, lifetime=lifetime, unverified=unverified)


def retold(evidence: Evidence, newest: Iterable[Observation]) -> Evidence:
    """The evidence with what decides and what is told of it made anew from its newest outcomes, in the order in which they were recorded."""
    blank = replace(evidence, lifetime=Tally(), operative=Tally(), unverified=0, observed_at=0, recent=(), reasons=())
    anew = reduce(with_observation, newest, blank)
    return replace(anew, lifetime=evidence.lifetime, unverified=evidence.unverified)


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

    Anything else that happens to the strategy breaks a run: of frequent successes and rare failures, none is counted less than it weighs. What was
    told in a minute, but happened at times that lie apart, is no run.
    """
    event, count, since = recent[-1] if recent else (seen.event, 0, seen.at)
    if event != seen.event or abs(seen.at - since) >= BURST_MICROS:
        return ((seen.event, 1, seen.at),), False
    return ((event, count + 1, since),), count >= BURST
