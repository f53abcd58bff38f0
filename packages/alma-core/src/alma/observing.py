"""Updates evidence with one more outcome."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import sha256
from itertools import chain

from alma.evidence import Tally, observed
from alma.text import cleaned
from alma.types.evidence import NO_STRATEGY, Evidence, Happening, evidence_id, task_place, text_key
from alma.types.identity import to_micros
from alma.types.kinds import Verdict
from alma.types.memories import Outcome
from alma.types.partition import owner_name
from alma.types.reasons import joined, kept_text, skeleton
from alma.types.soundness import MOST_REASONS, REASON_CHARS

WORTH = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}
"""Share of a success that a verdict counts as. An unjudged ending has none: it is counted separately, and decides nothing."""

BURST = 5
BURST_MICROS = 60_000_000
"""Of equal events beyond this number within this time, only the lifetime counts are updated."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One outcome as evidence counts it. `at` is when it happened, in microseconds."""

    verdict: Verdict
    event: str
    error: str | None
    at: int

    @classmethod
    def of(cls, outcome: Outcome, *, recorded_at: int) -> "Observation":
        """Builds the observation of an outcome that was recorded at `recorded_at`; it cannot have happened later.

        Two are the same event if task, strategy and verdict are equal, and the errors differ only in varying parts.
        """
        said = "\0".join((outcome.task_description, outcome.strategy_used, outcome.outcome, cleaned(outcome.error_message or "")))
        error = outcome.error_message or outcome.user_feedback
        event = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        at = min(to_micros(outcome.timestamp), recorded_at)
        return cls(outcome.outcome, event, error if outcome.outcome is not Verdict.SUCCESS else None, at)


def place_of(outcome: Outcome, task: str, *, is_step: bool) -> str:
    """Returns the place of the task of an outcome; `task` is the passage that holds its words."""
    return task_place(
        outcome.task_type,
        task,
        task_id=outcome.task_id,
        difficulty=outcome.difficulty,
        is_step=is_step,
        is_trusted=outcome.verdict_source.is_trusted,
    )


def only(outcome: Outcome, task: str, *, is_step: bool) -> Evidence:
    """Returns the evidence of the first outcome of a task. It is not stored until there is a second outcome: the first contains it
    all."""
    seen = Observation.of(outcome, recorded_at=to_micros(outcome.created_at))
    owner, place = owner_name(outcome.agent, outcome.user_id), place_of(outcome, task, is_step=is_step)
    hashed = _strategy_hash(outcome)
    worth = WORTH.get(seen.verdict)
    count = Tally() if worth is None else Tally(worth, 1.0)
    return Evidence(  # as `with_observation` of blank evidence, at a third of the cost: a new process reads thousands
        evidence_id(owner, place, hashed),
        owner,
        place,
        hashed,
        outcome.strategy_used,
        lifetime=count,
        operative=count,
        unverified=int(worth is None),
        observed_at=max(0, seen.at) if worth is None else seen.at,
        recent=() if worth is None else ((seen.event, 1, seen.at),),
        reasons=() if worth is None else noted_reason((), seen.error, seen.at),
        task=task,
    )


def blank_evidence(outcome: Outcome, place: str, task: str) -> Evidence:
    """Returns the evidence that an outcome belongs to, before any count."""
    owner, hashed = owner_name(outcome.agent, outcome.user_id), _strategy_hash(outcome)
    return Evidence(evidence_id(owner, place, hashed), owner, place, hashed, outcome.strategy_used, task=task)


def _strategy_hash(outcome: Outcome) -> str:
    return text_key(outcome.strategy_used) if outcome.strategy_used else NO_STRATEGY


def until(evidence: Evidence, now: int) -> Evidence:
    """Returns the evidence with its observation time limited to `now`: a time in the future would outweigh all later outcomes."""
    return evidence if evidence.observed_at <= now else replace(evidence, observed_at=now)


def with_observation(evidence: Evidence, seen: Observation) -> Evidence:
    """Returns the evidence with one more outcome."""
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


def recounted(evidence: Evidence, was: Verdict, now: Verdict) -> Evidence:
    """Returns the evidence after a verdict was set or changed, with the counts that include every outcome forever corrected."""
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


def rebuilt(evidence: Evidence, newest: Iterable[Observation]) -> Evidence:
    """Returns the evidence with operative counts and reasons rebuilt from its newest outcomes, in the order in which they were
    recorded."""
    blank = replace(evidence, lifetime=Tally(), operative=Tally(), unverified=0, observed_at=0, recent=(), reasons=())
    anew = reduce(with_observation, newest, blank)
    return replace(anew, lifetime=evidence.lifetime, unverified=evidence.unverified)


def noted_reason(reasons: Sequence[Happening], error: str | None, at: int) -> tuple[Happening, ...]:
    """Returns the reasons with one more. Those that differ only in varying parts are merged, and show only what did not vary. The rarest
    beyond the limit are dropped."""
    if not error:
        return tuple(reasons)
    newest = kept_text(error, REASON_CHARS)
    by_skeleton = _by_skeleton([*reasons, (newest, 1, at)])
    kept, own = _commonest(by_skeleton), by_skeleton[skeleton(newest)]
    return kept if own in kept else (*kept[:-1], own)


def merged_reasons(found: Iterable[Sequence[Happening]]) -> tuple[Happening, ...]:
    """Merges the reasons of several pieces of evidence, as `noted_reason` does."""
    return _commonest(_by_skeleton(chain.from_iterable(found)))


def _by_skeleton(reasons: Iterable[Happening]) -> dict[str, Happening]:
    merged: dict[str, Happening] = {}
    for what, count, last in reasons:
        key = skeleton(what)
        known = merged.get(key)
        merged[key] = (joined(known[0], what), known[1] + count, max(known[2], last)) if known else (what, count, last)
    return merged


def _commonest(reasons: Mapping[str, Happening]) -> tuple[Happening, ...]:
    return tuple(sorted(reasons.values(), key=lambda reason: reason[1:], reverse=True)[:MOST_REASONS])


def _noted_event(recent: Sequence[Happening], seen: Observation) -> tuple[tuple[Happening, ...], bool]:
    """Returns the unbroken run of equal events that this one extends, and whether the run was already a burst: too long within too short
    a time.

    Any other event of the strategy ends a run, so that frequent successes with rare failures count fully. Outcomes that were recorded
    within a minute, but happened further apart, form no run.
    """
    event, count, since = recent[-1] if recent else (seen.event, 0, seen.at)
    if event != seen.event or abs(seen.at - since) >= BURST_MICROS:
        return ((seen.event, 1, seen.at),), False
    return ((event, count + 1, since),), count >= BURST
