"""Stores the ending or settling of episodes: the ending, its memory, the usage and the credit for it, in one transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from alma.errors import ConflictError
from alma.memory.episodes import usage
from alma.memory.episodes.records import END, EPISODE, RUN, Lease, ending_body, opening_body, release, run_key
from alma.memory.learn import record
from alma.memory.learn.learner import Learner, strategy_texts, writing
from alma.memory.learn.request import LearnRequest
from alma.memory.room import Room
from alma.protocols import Lookups, Write
from alma.text import quoted
from alma.types.episodes import EpisodeRecord, EpisodeStatus
from alma.types.identity import to_micros
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import Outcome
from alma.types.passages import Passage, embedded, passages_of
from alma.types.provenance import flagged
from alma.types.reports import UsageReport
from alma.types.rules import RuleRecord

MOST_AN_EPISODE = 3
"""Sum of all shares of one attempt: many memories used at once do not make one attempt count for many."""

_PARTS = 1024
"""Shares are multiples of 1/1024, which binary fractions represent exactly, so that reversing one leaves no remainder, in any order."""

_WORTH: Mapping[Verdict, float] = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}

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
    vectors = vectors_of(room, [(each.outcome, each.passages) for each in made if each.outcome is not None])
    actor = record.common_actor(one.ended.agent for one in closings)
    given: dict[str, Any] = {"actor": actor, "operation": operation, "at": to_micros(at)}

    def write_endings(read: usage.ReadRecords) -> list[EpisodeRecord]:
        if all(each.outcome is None for each in made):  # nothing is learned: an embedder that is away does not keep them open
            with room.project.write(**given) as write:
                return _put_endings(room, write, made, read(write.stored))
        with writing(room, **given) as learner:
            ended = _put_endings(room, learner.write, made, read(learner.write.stored))
            for each in made:
                _learn(learner, each, vectors)
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
    for each in made:
        _begin_or_release(write, each.closing)
    counts: dict[str, dict[str, float]] = {}
    ended = [_put_ending(room, write, each, counts, records) for each in made]
    usage.count(write, counts, records)
    return ended


def _begin_or_release(write: Write, closing: Closing) -> None:
    """Releases the lease of an episode that was open; writes the beginning of one that is not stored yet."""
    if closing.lease is None:
        put_opening(write, closing.ended)
    elif not closing.version:
        release(write, closing.ended.id, closing.lease)


def put_opening(write: Write, opened: EpisodeRecord) -> None:
    """Writes the beginning of an episode, and its run if it has one."""
    made = {(EPISODE, opened.id): (0, opening_body(opened))}
    if opened.run_id is not None:
        made[RUN, run_key(opened.run_id, opened.id)] = 0, {"run_id": opened.run_id}
    write.put_records(made, at=to_micros(opened.started_at))


def vectors_of(room: Room, outcomes: Iterable[tuple[Outcome, Sequence[Passage]]]) -> Mapping[str, bytes]:
    """Returns the vectors of everything that is stored and compared of outcomes, computed in one batch."""
    given = list(outcomes)
    texts = [passage.text for _, passages in given for passage in embedded(passages)]
    texts += [text for outcome, _ in given for text in strategy_texts(outcome)]
    return room.store.texts.of(texts, room.project) if texts else {}


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
        return record.outcome_from(room, at, request), None
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
    """Raises `ConflictError` if an agent's own word would replace a verdict of somebody else."""
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


def _learn(learner: Learner, made: _Made, vectors: Mapping[str, bytes]) -> None:
    if made.outcome is None:
        return
    if made.was is None:
        learner.add(made.outcome, made.passages, vectors)
    else:
        learner.correct(made.outcome, made.passages, vectors)


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
    uses = () if use is None else usage.counted(use)
    added: dict[str, Counts] = {memory_id: {name: 1} for memory_id, name in uses}
    earlier, later = _credit(before), _credit(after)
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


def _credit(record: EpisodeRecord | None) -> Mapping[str, Counts]:
    """Returns the credit of an episode's outcome for each memory used in it. An unjudged episode gives none."""
    worth = None if record is None or record.outcome is None else _WORTH.get(record.outcome)
    if record is None or worth is None:
        return {}
    each = share(len(record.credited))
    return {memory_id: {"credited_successes": worth * each, "credited_trials": each} for memory_id in record.credited}


def counts_of(opening: Mapping[str, Any], ending: Mapping[str, Any]) -> Mapping[str, Counts]:
    """Returns what an episode added to the counts of each memory, given its beginning and its ending as they are stored."""
    if ending.get("status") != EpisodeStatus.ENDED or ending.get("used") is None:
        return {}
    credited, used = ending["credited"], {*ending["used"]}
    ignored = [memory_id for memory_id, *_ in opening["shown"] if memory_id not in used]
    worth = _WORTH.get(Verdict(ending["outcome"]))
    each = {} if worth is None else {"credited_successes": worth * share(len(credited)), "credited_trials": share(len(credited))}
    return {**{memory_id: {"ignored": 1} for memory_id in ignored}, **{memory_id: {"used": 1, **each} for memory_id in credited}}


def _difference(earlier: Counts, later: Counts) -> Counts:
    changes = {name: later.get(name, 0.0) - earlier.get(name, 0.0) for name in {**earlier, **later}}
    return {name: change for name, change in changes.items() if change}
