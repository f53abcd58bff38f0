"""Ends and settles episodes: the ending, its memory, the usage and the credit for it are stored in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from alma.errors import ConflictError, MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.episodes import usage
from alma.memory.episodes.records import Lease, ending_body, get, of_run, opening_body, release, run_key
from alma.memory.learn.learn import LearnRequest, outcome_from
from alma.memory.learn.storing import Entry, common_actor, comparison_vectors, embed, put, put_corrected
from alma.memory.room import Room
from alma.protocols import Lookups, Write
from alma.text import quoted
from alma.types.episodes import END, EPISODE, RUN, EpisodeRecord, EpisodeStatus
from alma.types.identity import to_micros
from alma.types.kinds import WORTH, Verdict, VerdictSource
from alma.types.memories import Outcome, Passage, passages_of
from alma.types.provenance import flagged
from alma.types.reports import UsageReport
from alma.types.strategies import RuleRecord

MOST_AN_EPISODE = 3
"""Sum of all shares of one attempt: many memories used at once do not make one attempt count for many."""

_PARTS = 1024
"""Shares are multiples of 1/1024, which binary fractions represent exactly, so that reversing one leaves no remainder, in any order."""

Counts = dict[str, float]


@dataclass(frozen=True, slots=True)
class Closing:
    """An episode to be stored as ended. `version` is that of its stored ending, 0 if there is none.

    `lease` is the one last known; without one, nothing is stored of the episode yet, and its beginning is written too. `before` is the
    episode before it was settled, `judge` the source that settles it.
    """

    ended: EpisodeRecord
    version: int = 0
    lease: Lease | None = (0, {})
    before: EpisodeRecord | None = None
    judge: VerdictSource | None = None


@dataclass(frozen=True, slots=True)
class _Made:
    """A closing with the memory of it, if there is one, and the stored verdict of that memory, if it is stored."""

    closing: Closing
    outcome: Outcome | None
    was: Verdict | None
    passages: Sequence[Passage]


def close(room: Room, closings: Sequence[Closing], *, operation: str, at: datetime) -> list[EpisodeRecord]:
    """Writes them in one transaction, all or none, and returns the episodes as stored."""
    made = [_made(room, closing, at) for closing in closings]
    entries = [Entry(each.outcome, each.passages) for each in made if each.outcome is not None]
    # Where nothing is learned, an embedder that is away does not keep the episodes open.
    vectors, kept = (embed(room, entries), comparison_vectors(room)) if entries else ({}, {})
    actor = common_actor(one.ended.agent for one in closings)
    given: dict[str, Any] = {"actor": actor, "operation": operation, "at": to_micros(at)}

    def write_endings(read: usage.ReadRecords) -> list[EpisodeRecord]:
        with room.project.write(**given) as write:
            write.keep_vectors(kept)
            ended = _put_endings(room, write, made, read(write.stored))
            for each in made:
                if each.outcome is not None:
                    entry = Entry(each.outcome, each.passages)
                    (put if each.was is None else put_corrected)(write, entry, vectors, at=given["at"])
        return ended

    return usage.write_with_rules(room, [_named(closing) for closing in closings], write_endings)


def _named(closing: Closing) -> usage.Named:
    """Returns the ids of what an episode was shown, if its usage is known, and of what is credited already."""
    ended, before = closing.ended, closing.before
    shown = [exposure.memory_id for exposure in ended.shown] if ended.used is not None else []
    ids = [*shown, *(ended.used or ()), *ended.credited, *(before.credited if before else ())]
    return ended.agent, ended.user_id, ids


def _put_endings(room: Room, write: Write, made: Sequence[_Made], records: Mapping[str, RuleRecord]) -> list[EpisodeRecord]:
    """Writes endings and their effect on the memories shown, and returns the episodes as they are stored."""
    for closing in (each.closing for each in made):
        if closing.lease is None:  # nothing of the episode is stored yet
            put_opening(write, closing.ended)
        elif not closing.version:
            release(write, closing.ended.id, closing.lease)
    counts: dict[str, dict[str, float]] = {}
    ended = [_put_ending(room, write, each, counts, records) for each in made]
    usage.count(write, counts, records)
    return ended


def put_opening(write: Write, opened: EpisodeRecord) -> None:
    """Writes the beginning of an episode, and its run if it has one."""
    made = {(EPISODE, opened.id): (0, opening_body(opened))}
    if opened.run_id is not None:
        made[RUN, run_key(opened.run_id, opened.id)] = 0, {"run_id": opened.run_id}
    write.put_records(made, at=to_micros(opened.started_at))


def kept_outcome(room: Room, outcome_id: str) -> Outcome | None:
    """Returns the memory of an episode's outcome; `None` if it was erased."""
    place = room.project.find([outcome_id]).get(outcome_id)
    kept = None if place is None else room.project.memories([place.memory]).get(place.memory)
    return kept if isinstance(kept, Outcome) else None


def _made(room: Room, closing: Closing, at: datetime) -> _Made:
    outcome, was = _outcome(room, closing, at)
    if outcome is None:
        return _Made(closing, None, None, ())
    ended = closing.ended.model_copy(update={"outcome_id": outcome.id})
    return _Made(replace(closing, ended=ended), outcome, was, passages_of(outcome))


def _outcome(room: Room, closing: Closing, at: datetime) -> tuple[Outcome | None, Verdict | None]:
    """Returns the memory of an episode's outcome, and its stored verdict. None for an episode that was abandoned or has no content, or
    whose memory was erased."""
    ended = closing.ended
    if ended.outcome is None:
        return None, None
    feedback = ended.reason or ended.feedback
    if ended.outcome_id is None:
        if _says_nothing(ended):
            return None, None
        request = LearnRequest(
            agent=ended.agent,
            user_id=ended.user_id,
            task=ended.task,
            task_type=ended.task_type,
            outcome=ended.outcome,
            strategy_used=ended.strategy,
            error_message=ended.error,
            feedback=feedback,
            duration_ms=ended.duration_ms,
            metadata={"episode_id": ended.id},
            timestamp=ended.ended_at,
            verdict_source=ended.verdict_source,
        )
        return outcome_from(room, at, request), None
    kept = kept_outcome(room, ended.outcome_id)
    if kept is None:
        return None, None
    judged_by = kept.verdict_source if closing.judge is None else closing.judge
    _check_trust(ended, kept, judged_by)
    outcome = Verdict.UNVERIFIED if _credits_a_failed_step(ended) else ended.outcome
    changed = {"outcome": outcome, "user_feedback": feedback, "updated_at": at, "verdict_source": judged_by}
    settled = kept.model_copy(update=changed)
    return settled.model_copy(update={"metadata": flagged(kept.metadata, settled.text, settled.keywords)}), kept.outcome


def _credits_a_failed_step(ended: EpisodeRecord) -> bool:
    """Returns True when an attempt that was settled as a success has a strategy that failed in it. A strategy that was blamed does not
    get credit now."""
    worked = {step.action for step in ended.steps if step.ok}
    failed = {step.action for step in ended.steps if step.ok is False} - worked
    return ended.outcome in (Verdict.SUCCESS, Verdict.PARTIAL) and ended.strategy in failed


def _says_nothing(ended: EpisodeRecord) -> bool:
    """Returns True for an unjudged episode without steps or texts: small talk, which is not worth a memory. Its record stays."""
    said = (ended.strategy, ended.error, ended.feedback, ended.reason)
    return ended.outcome is Verdict.UNVERIFIED and not ended.steps and not any(said)


def _check_trust(ended: EpisodeRecord, kept: Outcome, judge: VerdictSource) -> None:
    """Raises `ConflictError` if an agent's own word would replace a verdict of another judge."""
    if kept.verdict_source.is_trusted and not judge.is_trusted and kept.outcome is not Verdict.UNVERIFIED:
        raise ConflictError(
            f"episode {quoted(ended.id)} was judged by source {kept.verdict_source.value!r}, which the word of {judge.value!r} does not "
            f"replace; leave it, and learn the outcome beside it with verdict_source={judge.value!r}"
        )


def _put_ending(
    room: Room, write: Write, made: _Made, counts: dict[str, dict[str, float]], rules: Collection[str]
) -> EpisodeRecord:
    """Writes an ending, and adds its effect on the memories shown to `counts`."""
    ended, before = made.closing.ended, made.closing.before
    use = _use(room, write, ended, rules) if _is_judged(ended) and not _is_judged(before) else None
    if use is not None:
        ended = ended.model_copy(update={"credited": use.used})
    write.put_record(END, ended.id, ending_body(ended), version=made.closing.version)
    for memory_id, added in credit_counts(write.stored, before, ended, use, rules).items():
        sums = counts.setdefault(memory_id, {})
        sums.update({name: sums.get(name, 0) + number for name, number in added.items()})
    return ended


def _is_judged(episode: EpisodeRecord | None) -> bool:
    return episode is not None and episode.status is EpisodeStatus.ENDED


def _use(room: Room, write: Write, ended: EpisodeRecord, rules: Collection[str]) -> UsageReport | None:
    """Returns the usage of the memories shown; `None` if it is unknown."""
    if ended.used is None:
        return None
    shown = [exposure.memory_id for exposure in ended.shown]
    return usage.judged(room, write.stored, shown, ended.used, agent=ended.agent, user_id=ended.user_id, rules=rules)


def share(used: int) -> float:
    """Returns the share of an attempt that each of `used` memories is credited with: `min(1, 3 / used)`, rounded down to a 1024th."""
    return 1.0 if used <= MOST_AN_EPISODE else (_PARTS * MOST_AN_EPISODE // used) / _PARTS


def credit_counts(
    stored: Lookups,
    before: EpisodeRecord | None,
    after: EpisodeRecord,
    use: UsageReport | None,
    rules: Collection[str] = (),
) -> Mapping[str, Counts]:
    """Returns what ending or settling an episode adds to the counts of each memory: its use, if it is counted now, and the credit for the
    outcome.

    Credit for an earlier outcome of the episode is reversed. `rules` are ids of learned rules. Memories that are gone are left out.
    """
    counted = () if use is None else (("used", use.used), ("ignored", use.ignored))
    added: dict[str, Counts] = {memory_id: {name: 1} for name, ids in counted for memory_id in ids}
    earlier = {} if before is None else _credit(before.outcome, before.credited)
    later = _credit(after.outcome, after.credited)
    changes = {memory_id: _difference(earlier.get(memory_id, {}), later.get(memory_id, {})) for memory_id in {**earlier, **later}}
    there = {
        **added,
        **dict.fromkeys(rules),
        **stored.find(memory_id for memory_id, change in changes.items() if change and memory_id not in added),
    }
    for memory_id, change in changes.items():
        if change and memory_id in there:
            added.setdefault(memory_id, {}).update(change)
    return added


def _credit(outcome: Verdict | None, credited: Sequence[str]) -> Mapping[str, Counts]:
    """Returns the credit of an episode's outcome for each memory used in it. An unjudged episode gives none."""
    worth = None if outcome is None else WORTH.get(outcome)
    if worth is None:
        return {}
    each = share(len(credited))
    return {memory_id: {"credited_successes": worth * each, "credited_trials": each} for memory_id in credited}


def counts_of(opening: Mapping[str, Any], ending: Mapping[str, Any]) -> Mapping[str, Counts]:
    """Returns what an episode added to the counts of each memory, given its beginning and its ending as they are stored."""
    if ending.get("status") != EpisodeStatus.ENDED or ending.get("used") is None:
        return {}
    credit = _credit(Verdict(ending["outcome"]), ending["credited"])
    counts: dict[str, Counts] = {key: {"ignored": 1} for key, *_ in opening["shown"] if key not in ending["used"]}
    return counts | {key: {"used": 1, **credit.get(key, {})} for key in ending["credited"]}


def _difference(earlier: Counts, later: Counts) -> Counts:
    changes = {name: later.get(name, 0.0) - earlier.get(name, 0.0) for name in {**earlier, **later}}
    return {name: change for name, change in changes.items() if change}


@dataclass(frozen=True, slots=True)
class _Said:
    """A verdict that was checked."""

    verdict: Verdict
    reason: str | None
    source: VerdictSource | None


def settle(
    room: Room, *, episode_id: object, run_id: object, outcome: object, reason: object, source: object
) -> EpisodeRecord | list[EpisodeRecord]:
    """Sets or corrects the verdict of an episode that is closed, or of all that ended in a run, in one transaction. Repeating it changes
    nothing."""
    if (episode_id is None) is (run_id is None):
        raise ValidationError("settle needs an episode_id or a run_id, and not both")
    verdict, why = Verdict.checked(outcome), room.store.redaction.value(args.optional_text(reason, "reason"))
    said = _Said(verdict, why, None if source is None else args.checked_source(source))
    run = None if run_id is None else args.checked_id(run_id, "run_id")
    now = room.store.clock()
    with room.project.moment():
        found = [_closed(room, episode_id)] if run is None else _ended_in_run(room, run)
        new = [episode for episode in found if not _is_settled_so(room, episode, said)]
        endings = room.project.record(END, [episode.id for episode in new])
    closings = [Closing(_judged(each, said, now), endings[each.id][0], before=each, judge=said.source) for each in new]
    kept = {episode.id: episode for episode in close(room, closings, operation="settle", at=now)} if closings else {}
    settled = [kept.get(episode.id, episode) for episode in found]
    return settled[0] if run is None else settled


def _closed(room: Room, episode_id: object) -> EpisodeRecord:
    """Returns an episode that is not open any more. `ConflictError` if it is."""
    found = get(room, episode_id)
    if found.status is EpisodeStatus.OPEN:
        raise ConflictError(f"episode {quoted(found.id)} is still open; end it before it is settled")
    return found


def _ended_in_run(room: Room, run_id: str) -> list[EpisodeRecord]:
    """Returns the episodes that ended in a run. `ConflictError` if none did."""
    found = of_run(room, run_id)
    if not found:
        raise MemoryNotFoundError(f"project {room.name!r} has no episode of run {quoted(run_id)}")
    ended = [episode for episode in found if episode.status is EpisodeStatus.ENDED]
    if not ended:
        standings = ", ".join(f"{quoted(episode.id)} is {episode.status.value}" for episode in found)
        raise ConflictError(f"no episode of run {quoted(run_id)} has ended: {standings}")
    return ended


def _is_settled_so(room: Room, found: EpisodeRecord, said: _Said) -> bool:
    """Returns True when an episode has this verdict of this judge already."""
    return found.outcome is said.verdict and said.reason in (None, found.reason) and _is_judge(room, found, said.source)


def _is_judge(room: Room, found: EpisodeRecord, judge: VerdictSource | None) -> bool:
    """Returns True when the memory of an episode names this judge, and also if no judge is given, or no memory is left to name one."""
    kept = None if judge is None or found.outcome_id is None else kept_outcome(room, found.outcome_id)
    return kept is None or kept.verdict_source is judge


def _judged(found: EpisodeRecord, said: _Said, now: datetime) -> EpisodeRecord:
    """Returns the episode with its verdict. The reason for abandoning it is not a reason for the verdict."""
    before = found.reason if found.status is EpisodeStatus.ENDED else None
    return found.model_copy(
        update={
            "status": EpisodeStatus.ENDED,
            "outcome": said.verdict,
            "verdict_source": said.source or found.verdict_source,
            "reason": said.reason or before,
            "settled_at": now,
        }
    )
