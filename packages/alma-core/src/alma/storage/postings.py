"""Where the words stand that were asked for: read from full text once, and kept up to date as memories are added."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 8 << 20
"""What all lists together may take. A list of a thousand memories takes 8 kB."""

OVERHEAD = 500
HALF_DONE = -1


@dataclass(frozen=True, slots=True)
class Posting:
    """The memories that hold a word, ascending, and how often, as parallel arrays. `entries` is how often it stands in all of them.

    With a `limit` the word stands more often than was read: `entries` and `held_by`, the number of memories, are of what was read, and the
    arrays are empty.
    """

    memories: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    entries: int
    held_by: int
    limit: int | None = None

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OVERHEAD + self.memories.nbytes + self.frequencies.nbytes

    def followed_by(self, newer: "Posting") -> "Posting":
        """This and that of newer memories. One that was not read to its end stays as it is."""
        if self.limit is not None:
            return self
        return Posting(
            np.concatenate([self.memories, newer.memories]),
            np.concatenate([self.frequencies, newer.frequencies]),
            self.entries + newer.entries,
            self.held_by + newer.held_by,
        )


Piece = tuple[int, float, Mapping[str, int]]
"""A memory, what a word weighs in this text of it, the words with how often they stand there. Memories ascend."""


class Postings:
    """Lists by word, those asked for last. A cache: `upto` is the newest journal `seq` in all of them. Not thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.upto = 0
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lists: OrderedDict[str, Posting] = OrderedDict()

    def __len__(self) -> int:
        return len(self._lists)

    def known(self, words: Iterable[str], *, upto: int) -> dict[str, Posting]:
        """The lists that there are, as of `upto`: none, if these are older or newer."""
        if self.upto != upto:
            return {}
        found = {word: self._lists[word] for word in words if word in self._lists}
        for word in found:
            self._lists.move_to_end(word)
        return found

    def keep(self, read: Mapping[str, Posting], *, upto: int) -> None:
        """Takes lists that were read as of `upto`; they are dropped if these here are older or newer."""
        if self.upto == upto:
            for word, posting in read.items():
                self._put(word, posting)
            self._drop_oldest()

    def add(self, pieces: Iterable[Piece], *, upto: int) -> None:
        """Brings all lists up to date: memories were added since, each of a greater number than any before, and nothing else was changed."""
        added = _postings(pieces, self._is_growing)
        self.upto = HALF_DONE
        for word, newer in added.items():
            self._put(word, self._lists[word].followed_by(newer))
        self._drop_oldest()
        self.upto = upto

    def clear(self, *, upto: int) -> None:
        """Forgets all lists."""
        self._lists.clear()
        self._bytes, self.upto = 0, upto

    def _is_growing(self, word: str) -> bool:
        """Whether there is a list of it that was read to its end."""
        posting = self._lists.get(word)
        return posting is not None and posting.limit is None

    def _put(self, word: str, posting: Posting) -> None:
        before = self._lists.get(word)
        self._bytes += posting.size - (before.size if before else 0)
        self._lists[word] = posting

    def _drop_oldest(self) -> None:
        while self._bytes > self._most_bytes:
            _, dropped = self._lists.popitem(last=False)
            self._bytes -= dropped.size


def _postings(pieces: Iterable[Piece], is_wanted: Callable[[str], bool]) -> dict[str, Posting]:
    """The lists of these pieces for the words that are wanted."""
    found: defaultdict[str, list[tuple[int, float, int]]] = defaultdict(list)
    for memory, weight, words in pieces:
        for word, count in words.items():
            if is_wanted(word):
                found[word].append((memory, weight * count, count))
    return {word: _posting(entries) for word, entries in found.items()}


def _posting(entries: Sequence[tuple[int, float, int]]) -> Posting:
    frequencies: dict[int, float] = {}
    for memory, frequency, _ in entries:
        frequencies[memory] = frequencies.get(memory, 0.0) + frequency
    return Posting(
        np.fromiter(frequencies, dtype=np.int32),
        np.fromiter(frequencies.values(), dtype=np.float32),
        entries=sum(count for _, _, count in entries),
        held_by=len(frequencies),
    )
