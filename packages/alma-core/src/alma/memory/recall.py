"""Recalling: what was chosen as a slice. Writes nothing."""

from collections.abc import Collection, Mapping, Sequence

from alma.memory.answering import Asked, answered, asked
from alma.memory.room import Room
from alma.memory.scopes import unknown_agent_hint
from alma.memory.search import ARMS
from alma.retrieval.ranking import Ranked
from alma.scoring import Profile
from alma.types.identity import from_micros
from alma.types.memories import AnyMemory
from alma.types.prompt import tags_for
from alma.types.recalled import Factors, Recalled
from alma.types.slice import MemorySlice


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
    question = asked(
        room,
        task=task,
        agent=agent,
        top_k=top_k,
        user_id=user_id,
        include_shared=include_shared,
        profile=profile,
        weights=weights,
        arms=arms,
    )
    answer = answered(room, question)
    recalled = _recalled(room, question, answer.order) if answer else ()
    return MemorySlice(
        query=question.task,
        agent=question.reader,
        project_id=room.name,
        retrieved_at=from_micros(question.now),
        recalled=recalled,
        hint=None if recalled else unknown_agent_hint(room, question.reader),
    )


def _recalled(room: Room, question: Asked, order: Sequence[Ranked]) -> tuple[Recalled, ...]:
    stored = room.project.memories([item.memory for item in order])
    pairs = [(item, _told_apart(stored[item.memory], question.reader)) for item in order if item.memory in stored]
    tags = tags_for([memory for _, memory in pairs])
    return tuple(
        Recalled(tag=tag, memory=memory, score=item.score, factors=factors_of(item, question.profile), copies=item.copies)
        for tag, (item, memory) in zip(tags, pairs, strict=True)
    )


def factors_of(item: Ranked, profile: Profile) -> Factors:
    """The factors of a score with their weights."""
    return Factors(**item.factors, weights=dict(profile.weights_of(item.kind)))


def _told_apart(memory: AnyMemory, reader: str) -> AnyMemory:
    """A shared memory says whose it is."""
    if memory.kind == "user_preference" or memory.agent == reader:
        return memory
    return memory.model_copy(update={"metadata": {**memory.metadata, "shared_from": memory.agent}})
