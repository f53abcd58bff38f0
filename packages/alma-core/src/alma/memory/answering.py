"""Answering one question: scope, search, rank. What `retrieve` gives and what `explain_retrieval` tells both come from here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.folding import folded
from alma.memory.kinds import profile_for
from alma.memory.readable import ReadableScope
from alma.memory.relevant_rules import RelevantRules, relevant_rules
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.memory.search import ARMS, Found, Question, search
from alma.memory.swaps import check_order
from alma.retrieval.query import query_words, without_names
from alma.retrieval.ranking import Contender, Ranked, contenders, ranked
from alma.scoring import RECALL_WEIGHTS, Profile
from alma.text import quoted
from alma.types.memories import AnyMemory
from alma.types.partition import Partition
from alma.types.recalled import Factors
from alma.vectors import ProjectIndex


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, by whom and for whom, how much of each kind, and how it is weighed: all checked.

    `partitions` are all that there were when it was asked, `scope` those of them that the reader may read.
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What is given back, best first, and what it was chosen from. `folded` are the rules that another one, which is given back, stands for."""

    question: Question
    scope: ReadableScope
    found: Found
    contenders: Sequence[Contender]
    order: Sequence[Ranked]
    memories: Mapping[int, AnyMemory]
    folded: Mapping[int, int]
    rules: RelevantRules


def asked(
    room: Room,
    *,
    task: object,
    agent: object,
    top_k: object,
    user_id: object,
    task_type: object = None,
    include_shared: bool = True,
    profile: str | None = None,
    weights: Mapping[str, float] | None = None,
    arms: Collection[str] = ARMS,
) -> Asked:
    """The question, checked. `ValidationError` or `ScopeViolationError` says what is wrong with it."""
    text = args.checked_text(task, "task")
    reader = args.checked_name(agent, "agent")
    limit = args.checked_count(top_k, "top_k")
    user = args.checked_name(user_id, "user_id") if user_id is not None else None
    partitions = room.project.partitions()
    check_order(room, agent, partitions.values())
    scope = readable(room, agent=reader, user_id=user, include_shared=include_shared, partitions=partitions)
    weighing = _profile(room, profile, weights, scope)
    kind = args.optional_label(task_type, "task_type")
    return Asked(text, kind, reader, user, limit, include_shared, weighing, _checked_arms(arms), room.now(), partitions, scope)


def _checked_arms(arms: object) -> tuple[str, ...]:
    wanted = f"arms must be a list of some of {', '.join(ARMS)}"
    found = () if isinstance(arms, str) or not isinstance(arms, Collection) else tuple(args.checked_items(arms, "arms"))
    if not found or not all(isinstance(arm, str) and arm in ARMS for arm in found):
        raise ValidationError(f"{wanted}, not {quoted(arms)}")
    return found


def _profile(room: Room, profile: object, weights: Mapping[str, float] | None, scope: ReadableScope) -> Profile:
    usual = room.store.profile
    if weights is not None:
        return Profile.of(weights, usual.half_life_days)
    if profile is None:
        return profile_for(room, scope.kinds.values(), usual)
    if not isinstance(profile, str) or profile != "recall":
        raise ValidationError(f"there is no profile {quoted(profile)}; there is 'recall'")
    return replace(Profile.of(RECALL_WEIGHTS), counts_usefulness=False)


def answered(room: Room, asked: Asked) -> Answer | None:
    """The answer; `None` where the reader may read nothing at all."""
    scope = asked.scope
    if not scope:
        return None
    names = scope.owners if asked.reader in scope.owners else scope.owners | {asked.reader}
    vector = room.store.texts.query(without_names(asked.task, names), room.project)
    question = Question(vector, query_words(asked.task), asked.arms)
    with room.project.moment():
        found, chosen = _chosen(room, question, scope, asked.top_k)
        rules = rules_among(room, asked, question, [contender.memory for contender in chosen])
        ranking = scored(room, asked, chosen, rules, top_k=asked.top_k)
        memories = room.project.memories([item.memory for item in ranking])
    memories = {row: rules.as_shown(row, memory) for row, memory in memories.items()}
    doubles = folded(ranking, memories)
    order = [item for item in ranking if item.memory in memories and item.memory not in doubles]
    return Answer(question, scope, found, chosen, _advised_first(order, rules), memories, doubles, rules)


def rules_among(room: Room, asked: Asked, question: Question, rows: Sequence[int]) -> RelevantRules:
    """Which of the rules among some memories speak about the task that is asked about."""
    kinds = {one.memory: asked.partitions[one.partition].kind for one in room.project.candidates(rows)}
    return relevant_rules(
        room, kinds, reader=asked.reader, task=asked.task, task_type=asked.task_type, vector=question.vector, scope=asked.scope
    )


def _advised_first(order: Sequence[Ranked], rules: RelevantRules) -> list[Ranked]:
    """The same places, with the learned heuristics among themselves in the order of the success that is expected of them for this task."""
    places = [place for place, item in enumerate(order) if item.memory in rules.shown and item.memory not in rules.failing]
    best = sorted((order[place] for place in places), key=lambda item: -round(rules.shown[item.memory].expected, 9))
    moved = dict(zip(places, best, strict=True))
    return [moved.get(place, item) for place, item in enumerate(order)]


def scored(room: Room, asked: Asked, chosen: Sequence[Contender], rules: RelevantRules, *, top_k: int) -> list[Ranked]:
    """The contenders that still exist with their scores, at most `top_k` of each kind, best first."""
    candidates = rules.kept(room.project.candidates([contender.memory for contender in chosen]))
    return ranked(chosen, candidates, kinds=asked.scope.kinds, profile=asked.profile, now=asked.now, top_k=top_k)


def contenders_for(top_k: int) -> int:
    """How many memories of each kind are scored: more than are asked for, since other factors than similarity have a say."""
    return 2 * top_k + 10


def factors_of(item: Ranked, profile: Profile) -> Factors:
    """The factors of a score with their weights, and the multiplier."""
    return Factors(**item.factors, usefulness=item.usefulness, weights=dict(profile.weights_of(item.kind)))


def _chosen(room: Room, question: Question, scope: ReadableScope, top_k: int) -> tuple[Found, list[Contender]]:
    """What was found, and the contenders of each kind."""
    index = room.index.current()
    wanted = contenders_for(top_k)
    found = search(room, index, question, scope, hits=wanted)
    of_kind = scope.kind_numbers(found.partitions)
    chosen = contenders(found.similarities, memories=found.memories, groups=of_kind, ties=found.ties, limit=wanted)
    return found, [_with_all_copies(index, found, of_kind, each) for each in chosen] if index.has_copies else chosen


def _with_all_copies(index: ProjectIndex, found: Found, of_kind: NDArray[np.int64], chosen: Contender) -> Contender:
    """The contender with the number of all that it stands for: of the copies in a partition the search finds but some."""
    place = found.memories.searchsorted(chosen.memory)
    equal = (found.ties == found.ties[place]) & (of_kind == of_kind[place])
    return chosen._replace(copies=max(int(index.copies(found.memories[equal]).sum()), chosen.copies))
