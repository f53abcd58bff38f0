"""Passages as full text takes them, decoded from rows."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from alma.errors import CorruptStoreError
from alma.storage.relational.seal import Seal
from alma.types.passages import Passage

SearchedRow = tuple[int, int, int, int, bytes, bytes]
"""Row of the passage and of its memory, position, whether it is the owner's own, text, keywords."""


def searched(rows: Iterable[SearchedRow], project: int, seal: Seal) -> Iterator[tuple[int, list[int], list[Passage]]]:
    """Returns each memory with the rows of its passages and what full text takes of these. The rows are given memory by memory.

    A text that is damaged is empty; `verify` reports it.
    """
    for memory, found in groupby(rows, key=lambda row: row[1]):
        held = list(found)
        yield (
            memory,
            [row for row, *_ in held],
            [
                Passage.model_construct(
                    text=_opened(seal, text, "text", (project, memory, position)),
                    keywords=_opened(seal, keywords, "keywords", (project, memory, position)),
                    is_own=bool(is_own),
                )
                for _, _, position, is_own, text, keywords in held
            ],
        )


def _opened(seal: Seal, stored: bytes, name: str, row: tuple[int, int, int]) -> str:
    try:
        return seal.open(stored, place=f"passage.{name}", row=row).decode(errors="replace")
    except CorruptStoreError:
        return ""
