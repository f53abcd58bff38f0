"""Passages: the pieces of a memory that are searched on their own."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from alma.text import split_passages
from alma.types.identity import UtcDatetime
from alma.types.memories import Memory


class Passage(BaseModel):
    """A piece of a memory's text.

    `is_own` tells the owner's own words (a user's, the memory's) from others' (an assistant's, a tool's), which weigh less and are not
    embedded beside own ones. `keywords` are only searched by word. `speaker` is never part of the embedded text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[str, Field(min_length=1)]
    keywords: str = ""
    speaker: str = ""
    position: Annotated[int, Field(ge=0)] = 0
    time: UtcDatetime | None = None
    is_own: bool = True


class Draft(BaseModel):
    """A memory to be stored with passages of the caller's choosing, say the turns of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory: Memory
    passages: Annotated[tuple[Passage, ...], Field(min_length=1)]


def embedded(passages: Sequence[Passage]) -> list[Passage]:
    """The passages that get vectors: the owner's own; all, where none is its own. The others are found by their words."""
    return [passage for passage in passages if passage.is_own] or list(passages)


def passages_of(memory: Memory) -> tuple[Passage, ...]:
    """The passages of a memory that came without any: its text in pieces that a model can take in whole, keywords on the first."""
    pieces = split_passages(memory.text)
    return tuple(
        Passage(text=piece, position=position, keywords="" if position else memory.keywords)
        for position, piece in enumerate(pieces)
    )
