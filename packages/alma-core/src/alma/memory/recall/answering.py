"""Answering one question: scope, search, rank. `retrieve` and `explain_retrieval` both rest on it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.kinds import profile_for
from alma.memory.outcome_projection import task_key
from alma.memory.readable import ReadableScope
from alma.memory.recall.citations import with_citations
from alma.memory.recall.contradictions import Disputed, disputed
from alma.memory.recall.events import nearest_to_events
from alma.memory.recall.learned import LearnedPart, learned_part
from alma.memory.recall.named_speakers import named_speakers, search_named
from alma.memory.recall.one_attempt import Folds, any_of_attempt, attempts_folded, refilled, with_attempts
from alma.memory.recall.own_word import Caution, rests_on_own_word
from alma.memory.recall.request import RetrieveRequest
from alma.memory.recall.search import ARMS, Found, Question
from alma.memory.recall.times import Times, checked_times, rows_within
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.protocols import Candidate
from alma.retrieval.named_events import NamedEvents, named_events
from alma.retrieval.named_time import named_time, names_only_a_time
from alma.retrieval.query import addressed, query_words, without_names
from alma.retrieval.ranking import Contender, Ranked, contenders, ranked
from alma.scoring import RECALL_WEIGHTS, Profile
from alma.text import quoted, spelt
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome
from alma.types.partition import Partition
from alma.types.recalled import Factors
from alma.types.scope import UserWall
from alma.vectors import AnyIndex
from alma_learning import Question as TaskQuestion

_NONE = np.array([], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, by whom and for whom, how much of each kind, and how it is weighed: all checked.

    `partitions` are all that there were when it was asked, `scope` those of them that the reader may read. `verified` leaves out what a better
    memory contradicts. `times` limit which memories count, and `now` is the moment that they are seen from.
    """

    task: str
    task_type: str | None
    reader: str
    user: str | None
    top_k: int
    include_shared: bool
    profile: Profile
    arms: Collection[str]
    now: int
    partitions: Mapping[int, Partition]
    scope: ReadableScope
    verified: bool = False
    times: Times | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is given back, best first, and what it was chosen from.

    `folded` are outcomes for which another one stands, `caution` says which are not shown. `learned` is what is known of ways that were tried.
    `disputed` are the contradictions among what is given back. `events` are those that the question sets in time, `nearest` the rows of the memories
    that are nearest to them.
    """

    question: Question
    scope: ReadableScope
    found: Found
    contenders: Sequence[Contender]
    order: Sequence[Ranked]
    memories: Mapping[int, AnyMemory]
    folded: Mapping[int, int]
    caution: Caution
    learned: LearnedPart
    disputed: Disputed
    events: NamedEvents | None
    nearest: Mapping[str, int]


def asked(room: Room, request: RetrieveRequest) -> Asked:
    """The question, checked. `ValidationError` or `ScopeViolationError` says what is wrong with it."""
    text = room.store.redaction.text(args.checked_text(request.task, "task"))
    reader = args.checked_name(request.agent, "agent")
    limit = args.checked_count(request.top_k, "top_k")
    user = args.optional_name(request.user_id, "user_id")
    partitions = room.project.partitions()
    scope = readable(room, agent=reader, user_id=user, include_shared=request.include_shared, partitions=partitions)
    weighing = _profile(room, request.profile, request.weights, scope)
    kind = room.store.redaction.value(args.optional_label(request.task_type, "task_type"))
    times, now = checked_times(
        since=request.since,
        until=request.until,
        as_of=request.as_of,
        temporal_filter=request.temporal_filter,
        now=room.now(),
    )
    return Asked(
        text,
        kind,
        reader,
        user,
        limit,
        request.include_shared,
        weighing,
        _checked_arms(request.arms),
        now,
        partitions,
        scope,
        verified=request.verified,
        times=times,
    )


def _checked_arms(arms: object) -> tuple[str, ...]:
    wanted = f"arms must be a list of some of {', '.join(ARMS)}"
    found = () if isinstance(arms, str) or not isinstance(arms, Collection) else tuple(args.checked_items(arms, "arms"))
    if not found or [arm for arm in found if not isinstance(arm, str) or arm not in ARMS]:
        raise ValidationError(f"{wanted}, not {quoted(arms)}")
    return found


def _profile(room: Room, profile: object, weights: Mapping[str, float] | None, scope: ReadableScope) -> Profile:
    usual = room.store.profile
    if weights is not None:
        return Profile.of(weights, usual.half_life_days)
    if profile is None:
        return profile_for(room, scope.kind_names, usual)
    if not isinstance(profile, str) or profile != "recall":
        raise ValidationError(f"there is no profile {quoted(profile)}; there is 'recall'")
    return replace(Profile.of(RECALL_WEIGHTS), counts_usefulness=False)


def answered(room: Room, asked: Asked) -> Answer | None:
    """The answer; `None` where the reader may read nothing at all, and no outcome of other users counts for it."""
    scope = asked.scope
    if not scope and not any(map(scope.counts_without_words, scope.known)):
        return None
    names = scope.owners if asked.reader in scope.owners else scope.owners | {asked.reader}
    question = _make_question(room, asked, names)
    with room.project.moment():
        question, found, chosen = _search(room, asked, question, names)
        nearest: Mapping[str, int] = {}
        if events := named_events(asked.task):
            index, wanted = room.index.current(scope.rows), contenders_for(asked.top_k)
            nearest = nearest_to_events(room, index, question, events, scope, without=names, hits=wanted)
            found, chosen = _with_events(room, question, scope, asked.top_k, found, chosen, list(nearest.values()))
        seen = candidates_of(room, asked, chosen)
        caution = Caution()
        ranking, memories, attempts = _rank(room, asked, chosen, seen, caution)
        outcomes = [one.id for one in memories.values() if isinstance(one, Outcome)]
        learned = _learned(room, asked, question, outcomes)
    memories = {**memories, **with_citations(memories, seen)}
    memories |= with_attempts(memories, attempts)
    order = [item for item in ranking if item.memory in memories and item.memory not in attempts]
    found_disputed = disputed(room.store, order, memories, verified=asked.verified)
    return Answer(
        question,
        scope,
        found,
        chosen,
        found_disputed.order,
        memories,
        attempts,
        caution,
        learned,
        found_disputed,
        events,
        nearest,
    )


def _make_question(room: Room, asked: Asked, names: frozenset[str]) -> Question:
    vector = room.store.texts.query(without_names(asked.task, names), room.project)
    time = named_time(asked.task, from_micros(asked.now))
    return Question(vector, query_words(asked.task), asked.arms, time, time is not None and names_only_a_time(asked.task))


def _search(room: Room, asked: Asked, question: Question, names: frozenset[str]) -> tuple[Question, Found, list[Contender]]:
    """The question with what the store knows of it, what was found, and the contenders."""
    if asked.times is not None:
        question = replace(question, within=rows_within(room, asked.times, asked.scope))
    found, chosen = _chosen(room, question, asked.scope, asked.top_k)
    if speakers := named_speakers(room, asked.task, found, asked.scope):
        text = without_names(addressed(asked.task, speakers), names)
        question = replace(question, addressed=room.store.texts.query(text, room.project), speakers=speakers)
        found, chosen = _chosen(room, question, asked.scope, asked.top_k)
    return question, found, chosen


def _rank(
    room: Room, asked: Asked, chosen: Sequence[Contender], seen: Sequence[Candidate], caution: Caution
) -> tuple[list[Ranked], Mapping[int, AnyMemory], Folds]:
    """The ranking, what its memories say, and the outcomes for which another one of their attempt stands."""
    ranking = scored(asked, chosen, seen, caution, top_k=asked.top_k)
    memories: Mapping[int, AnyMemory] = room.project.memories([item.memory for item in ranking])
    if any(map(rests_on_own_word, memories.values())):
        ranking, memories = _cautious(room, asked, chosen, seen, caution)
    attempts = attempts_folded(ranking, memories)
    if attempts or any_of_attempt(memories.values()):  # what failed in one may stand behind
        return _refilled(room, asked, chosen, seen, caution, ranking, memories, attempts)
    return ranking, memories, attempts


def _learned(room: Room, asked: Asked, question: Question, outcomes: Sequence[str]) -> LearnedPart:
    """What is known of the ways that were tried on such tasks."""
    kind = None if asked.task_type is None else spelt(asked.task_type)
    about = TaskQuestion(text=asked.task, task=task_key(asked.task), task_type=kind, vector=question.vector)
    return learned_part(
        room,
        about,
        asked.scope,
        reader=asked.reader,
        user=asked.user,
        is_shared=asked.include_shared,
        profile=asked.profile,
        now=asked.now,
        top_k=asked.top_k,
        times=asked.times,
        outcomes=outcomes,
    )


def _cautious(
    room: Room, asked: Asked, chosen: Sequence[Contender], seen: Sequence[Candidate], caution: Caution
) -> tuple[list[Ranked], Mapping[int, AnyMemory]]:
    """The ranking in which outcomes that rest on an own word have few places, and what it says. `caution` notes which are hidden."""
    rows = [one.memory for one in seen if asked.partitions[one.partition].kind == MemoryType.OUTCOME]
    outcomes = room.project.memories(rows)
    caution.note_times(seen, outcomes)
    caution.hide_the_rest(scored(asked, chosen, seen, caution, top_k=len(chosen)), outcomes, asked.top_k)
    ranking = scored(asked, chosen, seen, caution, top_k=asked.top_k)
    return ranking, room.project.memories([item.memory for item in ranking])


def _refilled(
    room: Room,
    asked: Asked,
    chosen: Sequence[Contender],
    seen: Sequence[Candidate],
    caution: Caution,
    ranking: Sequence[Ranked],
    memories: Mapping[int, AnyMemory],
    attempts: Folds,
) -> tuple[list[Ranked], Mapping[int, AnyMemory], Folds]:
    """The ranking with other outcomes in the places of those that are folded into one of their attempt; the contenders, with what they say."""
    wider = scored(asked, chosen, seen, caution, top_k=len(chosen))
    first = {item.memory for item in ranking}
    behind = [item for item in wider if item.kind == MemoryType.OUTCOME and item.memory not in first]
    known = {**memories, **room.project.memories([item.memory for item in behind])}
    folds = refilled(wider, known, attempts, asked.top_k)
    others = [item.memory for item in behind if item.memory not in folds]
    taken = first.union(others[: len(attempts)])
    return [item for item in wider if item.memory in taken], known, folds


def candidates_of(room: Room, asked: Asked, chosen: Sequence[Contender]) -> Sequence[Candidate]:
    """Returns what ranking needs of the contenders that still exist. Where users are isolated, the use of a memory that they share does not
    count: it would be that of others."""
    found = room.project.candidates([contender.memory for contender in chosen])
    if room.store.users is not UserWall.ISOLATED:
        return found
    of = asked.partitions
    with_users = {agent for agent in {of[one.partition].agent for one in found} if agent and room.has_users(agent, of)}
    return [
        one.without_use() if of[one.partition].user_id is None and of[one.partition].agent in with_users else one for one in found
    ]


def scored(asked: Asked, chosen: Sequence[Contender], seen: Sequence[Candidate], caution: Caution, *, top_k: int) -> list[Ranked]:
    """The contenders that still exist with their scores, at most `top_k` of each kind, best first."""
    candidates = caution.kept(seen)
    return ranked(chosen, candidates, kinds=asked.scope.kinds, profile=asked.profile, now=asked.now, top_k=top_k)


def contenders_for(top_k: int) -> int:
    """How many memories of each kind are scored: more than are asked for, since other factors than similarity have a say."""
    return 2 * top_k + 10


def factors_of(item: Ranked, profile: Profile) -> Factors:
    """The factors of a score with their weights, and the multiplier."""
    return Factors(**item.factors, usefulness=item.usefulness, weights=dict(profile.weights_of(item.kind)))


def _with_events(
    room: Room,
    question: Question,
    scope: ReadableScope,
    top_k: int,
    found: Found,
    chosen: list[Contender],
    nearest: Sequence[int],
) -> tuple[Found, list[Contender]]:
    """What was found, and the contenders, of which those are kept that are nearest to the events of the question."""
    if not set(nearest) <= {contender.memory for contender in chosen}:
        found, chosen = _chosen(room, question, scope, top_k, np.array(sorted(set(nearest)), dtype=np.int64))
    return found, [one._replace(is_kept=True) if one.memory in nearest else one for one in chosen]


def _chosen(
    room: Room, question: Question, scope: ReadableScope, top_k: int, near: NDArray[np.int64] = _NONE
) -> tuple[Found, list[Contender]]:
    """What was found, and the contenders of each kind: the most similar ones, and those of `near`, which contend in any case."""
    index = room.index.current(scope.rows)
    wanted = contenders_for(top_k)
    found = search_named(room, index, question, scope, hits=wanted, always=near)
    of_kind = scope.kind_numbers(found.partitions)
    chosen = contenders(found.similarities, memories=found.memories, groups=of_kind, ties=found.ties, limit=wanted)
    chosen += _others_near(found, of_kind, chosen, near)
    has_more = index.has_copies and question.within is None  # of copies some may not count; those that do were all found
    return found, _with_all_copies(index, found, of_kind, chosen) if has_more else chosen


def _others_near(
    found: Found, of_kind: NDArray[np.int64], chosen: Sequence[Contender], near: NDArray[np.int64]
) -> list[Contender]:
    """The memories that are near, without those that contend already, or of which an equal one does."""
    if not len(near):
        return []
    had = [contender.memory for contender in chosen]
    at = np.flatnonzero(np.isin(found.memories, np.setdiff1d(near, had)))
    if not len(at):
        return []
    equal = set(_contents(found, of_kind, had))
    others = contenders(
        found.similarities[at], memories=found.memories[at], groups=of_kind[at], ties=found.ties[at], limit=len(at)
    )
    contents = _contents(found, of_kind, [other.memory for other in others])
    return [other for other, content in zip(others, contents, strict=True) if content not in equal]


def _contents(found: Found, of_kind: NDArray[np.int64], memories: Sequence[int]) -> list[tuple[int, int]]:
    """The tie and the number of the kind of each of some memories that were found: the same for equal ones."""
    places = found.memories.searchsorted(memories)
    return list(zip(found.ties[places].tolist(), of_kind[places].tolist(), strict=True))


def _with_all_copies(index: AnyIndex, found: Found, of_kind: NDArray[np.int64], chosen: Sequence[Contender]) -> list[Contender]:
    """The contenders with the numbers of all that they stand for: of the copies in a partition the search finds but some."""
    contents = _contents(found, of_kind, [contender.memory for contender in chosen])
    equal = found.memories[np.isin(found.ties, [tie for tie, _ in contents])]
    copies: Counter[tuple[int, int]] = Counter()
    for content, count in zip(_contents(found, of_kind, equal.tolist()), index.copies(equal).tolist(), strict=True):
        copies[content] += count
    return [one._replace(copies=max(copies[content], one.copies)) for one, content in zip(chosen, contents, strict=True)]
