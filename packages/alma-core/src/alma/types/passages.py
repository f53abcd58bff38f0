"""Passages: the pieces of a memory that are searched individually."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from alma.text import split_passages
from alma.types.identity import UtcDatetime, Value
from alma.types.memories import Memory


class Passage(Value):
    """A piece of a memory's text.

    `is_own` marks the owner's own words (a user's, the memory's). Words of others (an assistant's, a tool's) weigh less and are not
    embedded beside own ones. `keywords` are only searched by word. `speaker` is never part of the embedded text.
    """

    text: Annotated[str, Field(min_length=1)]
    keywords: str = ""
    speaker: str = ""
    position: Annotated[int, Field(ge=0)] = 0
    time: UtcDatetime | None = None
    is_own: bool = True


class Draft(Value):
    """A memory to store with passages that the caller chose, say the turns of a conversation."""

    memory: Memory
    passages: Annotated[tuple[Passage, ...], Field(min_length=1)]


def embedded(passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages that get vectors: the owner's own; all, where none is its own. The others are found by their words."""
    return [passage for passage in passages if passage.is_own] or list(passages)


def passages_of(memory: Memory) -> tuple[Passage, ...]:
    """Returns the passages of a memory that was given without any: its text in pieces that fit a model, keywords on the first."""
    pieces = split_passages(memory.text)
    return tuple(
        Passage(text=piece, position=position, keywords="" if position else memory.keywords)
        for position, piece in enumerate(pieces)
    )
