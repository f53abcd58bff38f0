"""Recalling: what was chosen as a slice. Writes nothing."""

from collections.abc import Collection, Mapping

from alma.memory.answering import Answer, Asked, answered, asked, factors_of
from alma.memory.explanations import explanations
from alma.memory.room import Room
from alma.memory.scopes import unknown_agent_hint
from alma.memory.search import ARMS
from alma.types.identity import from_micros
from alma.types.memories import AnyMemory
from alma.types.prompt import tags_for
from alma.types.recalled import Recalled
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
    explain: bool = False,
) -> MemorySlice:
    """The memories that matter for a task, at most `top_k` of each kind, best first; with every number behind them if `explain`."""
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
    recalled = _recalled(room, question, answer, explain) if answer else ()
    return MemorySlice(
        query=question.task,
        agent=question.reader,
        project_id=room.name,
        retrieved_at=from_micros(question.now),
        recalled=recalled,
        hint=None if recalled else unknown_agent_hint(room, question.reader),
    )


def _recalled(room: Room, question: Asked, answer: Answer, explain: bool) -> tuple[Recalled, ...]:
    stored = room.project.memories([item.memory for item in answer.order])
    pairs = [(item, _told_apart(stored[item.memory], question.reader)) for item in answer.order if item.memory in stored]
    tags = tags_for([memory for _, memory in pairs])
    explained = explanations(room, question, answer) if explain else {}
    return tuple(
        Recalled(
            tag=tag,
            memory=memory,
            score=item.score,
            factors=factors_of(item, question.profile),
            copies=item.copies,
            explanation=explained.get(item.memory),
        )
        for tag, (item, memory) in zip(tags, pairs, strict=True)
    )


def _told_apart(memory: AnyMemory, reader: str) -> AnyMemory:
    """A shared memory says whose it is."""
    if memory.kind == "user_preference" or memory.agent == reader:
        return memory
    return memory.model_copy(update={"metadata": {**memory.metadata, "shared_from": memory.agent}})
