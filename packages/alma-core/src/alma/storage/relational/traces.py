"""Where what was purged still stands in the rows of others: a search for many texts at once, whose cost hardly grows with their number.

Each sign is looked for by an anchor, eight bytes of it. Every eight bytes of the rows are looked up among the anchors; where one is met, the
whole sign is compared. The anchor of a sign is where it differs most from the first rows, so that few places are compared in vain.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.logical import TABLES, View

WIDTH = 8
CHUNK = 1_000_000
"""Bytes of rows that are searched at a time."""

_MIXER = np.uint64(0x9E3779B97F4A7C15)
_BITS = 20

Words = NDArray[np.uint64]


def traces(view: View, signs: Iterable[str]) -> list[str]:
    """The rows that hold one of the signs anywhere, by table and key. They are not the memory's, so they are left and named."""
    written = [json.dumps(sign, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass") for sign in dict.fromkeys(signs)]
    searcher: _Searcher | None = None
    found: list[str] = []
    for chunk in _chunks(view):
        searcher = searcher or _Searcher.of(written, _slots(_words(b"".join(chunk.rows))))
        found += [chunk.names[at] for at in searcher.rows(chunk)]
    return found


@dataclass(slots=True)
class _Chunk:
    """Some rows as bytes, with their names."""

    names: list[str] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, row: bytes) -> None:
        """One more row. They are apart by a byte that no JSON holds, so that nothing is found across two of them."""
        self.names.append(name)
        self.rows.append(row + b"\0")
        self.size += len(row) + 1


def _chunks(view: View) -> Iterator[_Chunk]:
    chunk = _Chunk()
    for table in TABLES.values():
        if table.name == "usage":  # numbers only
            continue
        for stored in table.rows(view):
            if stored.row is not None:
                text = json.dumps(stored.row, ensure_ascii=False)
                chunk.add(f"{table.name} {stored.key}", text.encode("utf-8", "surrogatepass"))
            if chunk.size >= CHUNK:
                yield chunk
                chunk = _Chunk()
    if chunk.rows:
        yield chunk


@dataclass(slots=True)
class _Searcher:
    """Signs by anchor. `short` are those that have none."""

    anchors: dict[int, list[tuple[int, bytes]]]
    slots: NDArray[np.bool_]
    short: Sequence[bytes]

    @classmethod
    def of(cls, signs: Sequence[bytes], usual: NDArray[np.int64]) -> "_Searcher":
        """A search for signs in rows such as these, of which the slots of their words are given."""
        counts = np.bincount(usual, minlength=1 << _BITS)
        anchors: dict[int, list[tuple[int, bytes]]] = {}
        is_anchor = np.zeros(1 << _BITS, dtype=np.bool_)
        for sign in signs:
            words = _words(sign)
            if len(words):
                slots = _slots(words)
                offset = int(np.argmin(counts[slots]))
                anchors.setdefault(int(words[offset]), []).append((offset, sign))
                is_anchor[slots[offset]] = True
        return cls(anchors, is_anchor, [sign for sign in signs if len(sign) < WIDTH])

    def rows(self, chunk: _Chunk) -> list[int]:
        """The places of the rows that hold a sign, ascending."""
        found = {at for at, row in enumerate(chunk.rows) if any(sign in row for sign in self.short)} if self.short else set()
        text = b"".join(chunk.rows)
        ends = list(accumulate(map(len, chunk.rows)))
        words = _words(text)
        for place in np.flatnonzero(self.slots[_slots(words)]).tolist():
            for offset, sign in self.anchors.get(int(words[place]), ()):
                if place >= offset and text.startswith(sign, place - offset):
                    found.add(bisect_right(ends, place))
        return sorted(found)


def _words(text: bytes) -> Words:
    """Every eight bytes that follow each other, as a number."""
    count = max(len(text) - WIDTH + 1, 0)
    letters = np.frombuffer(text, dtype=np.uint8)
    words = np.zeros(count, dtype=np.uint64)
    for at in range(WIDTH):
        words |= letters[at : at + count].astype(np.uint64) << np.uint64(8 * at)
    return words


def _slots(words: Words) -> NDArray[np.int64]:
    """A number below two to the twentieth for each word, much the same as random."""
    return ((words * _MIXER) >> np.uint64(64 - _BITS)).astype(np.int64)
