"""Recalling: scope, search, rank, slice. Writes nothing."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.scopes import readable, unknown_agent_hint
from alma.memory.search import ARMS, HITS, Found, Question, search
from alma.retrieval.query import query_words, without_names
from alma.retrieval.ranking import Contender, Ranked, contenders, ranked
from alma.scoring import RECALL_WEIGHTS, Profile
from alma.text import shortened
from alma.types.identity import from_micros
from alma.types.memories import AnyMemory
from alma.types.partition import Partition
from alma.types.prompt import tags_for
from alma.types.recalled import Factors, Recalled
from alma.types.slice import MemorySlice

MOST_HITS = 6_400


def retrieve(
    room: Room,
    *,
    task: object,
    agent: object,
    top_k: object = 5,
    user_id: object = None,
    include_shared: bool = True,
    profile: str | None = None,
    weights: Mapping[str, float] | None = None,
    arms: Collection[str] = ARMS,
) -> MemorySlice:
    """The memories that matter for a task, at most `top_k` of each kind, best first."""
    text = args.checked_text(task, "task")
    reader = args.checked_name(agent, "agent")
    limit = args.checked_count(top_k, "top_k")
    user = args.checked_name(user_id, "user_id") if user_id is not None else None
    weighing = _profile(room, profile, weights)
    _check_arms(arms)
    now = room.now()
    scope = readable(room, agent=reader, user_id=user, include_shared=include_shared)
    order = _ordered(room, text, reader, scope, arms, weighing, now, limit) if scope else []
    recalled = _recalled(room, order, scope, reader, weighing)
    return MemorySlice(
        query=text,
        agent=reader,
        project_id=room.name,
        retrieved_at=from_micros(now),
        recalled=recalled,
        hint=None if recalled else unknown_agent_hint(room, reader),
    )


def _check_arms(arms: object) -> None:
    if not isinstance(arms, Collection) or isinstance(arms, str) or not arms or any(arm not in ARMS for arm in arms):
        raise ValidationError(f"arms must be a list of some of {', '.join(ARMS)}, not {shortened(repr(arms), 60)}")


def _profile(room: Room, profile: str | None, weights: Mapping[str, float] | None) -> Profile:
    usual = room.store.profile
    if weights is not None:
        return Profile.of(weights, usual.half_life_days)
    if profile is None:
        return usual
    if profile != "recall":
        raise ValidationError(f"there is no profile {profile!r}; there is 'recall'")
    return Profile.of(RECALL_WEIGHTS)


def _ordered(
    room: Room, task: str, agent: str, scope: Sequence[Partition], arms: Collection[str], profile: Profile, now: int, top_k: int
) -> list[Ranked]:
    names = {partition.owner for partition in scope if not partition.is_user} | {agent}
    vector = room.store.texts.query(without_names(task, names), room.project)
    question = Question(vector, query_words(task), arms)
    kinds = {partition.row: partition.kind for partition in scope}
    chosen = _enough(room, question, scope, kinds, top_k)
    candidates = room.project.candidates([contender.memory for contender in chosen])
    return ranked(chosen, candidates, kinds=kinds, profile=profile, now=now, top_k=top_k)


def _enough(room: Room, question: Question, scope: Sequence[Partition], kinds: Mapping[int, str], top_k: int) -> list[Contender]:
    """Contenders of each kind, more than are asked for, since other factors than similarity have a say. Copies of one content may crowd out
    the rest of a search: then it looks further."""
    index = room.index.current()
    wanted = 2 * top_k + 10
    hits = max(HITS, wanted)
    while True:
        found = search(room, index, question, scope, hits=hits)
        result, least = contenders(
            found.similarities,
            memories=found.memories,
            groups=_groups(found, kinds),
            ties=found.ties,
            limit=wanted,
        )
        crowded = least < top_k and len(found.memories) >= hits
        if found.is_all or not crowded or hits >= MOST_HITS:
            return result
        hits *= 8


def _groups(found: Found, kinds: Mapping[int, str]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    numbers = {kind: number for number, kind in enumerate(sorted(set(kinds.values())))}
    rows, inverse = np.unique(found.partitions, return_inverse=True)
    return np.array([numbers[kinds[int(row)]] for row in rows], dtype=np.int64)[inverse]


def _recalled(
    room: Room, order: Sequence[Ranked], scope: Sequence[Partition], reader: str, profile: Profile
) -> tuple[Recalled, ...]:
    stored = room.project.memories([item.memory for item in order])
    pairs = [(item, _told_apart(stored[item.memory], reader)) for item in order if item.memory in stored]
    tags = tags_for([memory for _, memory in pairs])
    return tuple(
        Recalled(
            tag=tag,
            memory=memory,
            score=item.score,
            factors=Factors(**item.factors, weights=dict(profile.weights)),
            copies=item.copies,
        )
        for tag, (item, memory) in zip(tags, pairs, strict=True)
    )


def _told_apart(memory: AnyMemory, reader: str) -> AnyMemory:
    """A shared memory says whose it is."""
    if memory.kind == "user_preference" or memory.agent == reader:
        return memory
    return memory.model_copy(update={"metadata": {**memory.metadata, "shared_from": memory.agent}})
