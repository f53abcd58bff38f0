"""Where words stand, by place in a project's text table, and a cache of that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.text_index import Integers, WordLists
from alma.storage.relational.text_table import TextScope

MOST_BYTES = 16 << 20
"""The size of all lists together. A list of a thousand memories takes 8 kB."""

OVERHEAD = 500


@dataclass(frozen=True, slots=True)
class Posting:
    """The memories of a project that hold a word, by place in its text table, ascending, and how often; parallel arrays."""

    places: NDArray[np.int32]
    frequencies: NDArray[np.float32]

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OVERHEAD + self.places.nbytes + self.frequencies.nbytes

    def within(self, scope: TextScope) -> "Posting":
        """The same of the memories in a scope."""
        if scope.is_open is None:
            return self
        inside = scope.is_open[scope.slots[self.places]]
        return Posting(self.places[inside], self.frequencies[inside])

    def held_by(self, scope: TextScope) -> int:
        """Returns how many memories of a scope hold the word."""
        return len(self.within(scope).places)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Least number of memories of each slot that hold a word: all that is kept of a long list, enough to see that the word is common."""

    held: NDArray[np.int32]

    @classmethod
    def of(cls, posting: Posting, scope: TextScope) -> "Crowd":
        """The memories that hold the word, counted by slot."""
        return cls(np.bincount(scope.slots[posting.places]).astype(np.int32))

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OVERHEAD + self.held.nbytes

    def held_by(self, scope: TextScope) -> int:
        """Returns how many memories of a scope hold the word, at least."""
        return int(self.held.sum() if scope.is_open is None else self.held[scope.is_open[: len(self.held)]].sum())


NOWHERE = Posting(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32))


class Postings:
    """Bounded cache of lists by stem, as of the journal `seq` of `upto`; any write makes all of them invalid. Not thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self.clear(upto=0)

    def clear(self, *, upto: int) -> None:
        """Forgets all lists; what is kept next is as of `upto`."""
        self._upto, self._bytes = upto, 0
        self._lists: dict[str, Posting | Crowd] = {}

    def known(self, stems: Iterable[str], *, upto: int) -> dict[str, Posting | Crowd]:
        """The lists that are held as of `upto`."""
        return {stem: self._lists[stem] for stem in stems if stem in self._lists} if self._upto == upto else {}

    def keep(self, read: Mapping[str, Posting | Crowd], *, upto: int) -> None:
        """Keeps lists that were read as of `upto`, unless what is held here is older or newer. When it is full, all others are forgotten."""
        if self._upto != upto:
            return
        added = sum(held.size for held in read.values())
        if self._bytes + added > self._most_bytes:
            self.clear(upto=upto)
        if added <= self._most_bytes:
            self._lists.update(read)
            self._bytes += added


def postings_of(found: WordLists, memories: Integers) -> Sequence[Posting]:
    """The lists of an index by place in a text table that holds `memories`. Memories that it does not hold are left out."""
    places = memories.searchsorted(found.memories)
    is_known = memories.take(places, mode="clip") == found.memories if len(memories) else np.zeros(len(places), dtype=np.bool_)
    ends = np.cumsum(found.sizes, dtype=np.int64)
    borders = np.concatenate([[0], np.concatenate([[0], is_known.cumsum()])[ends]]).tolist()
    known, frequencies = places[is_known].astype(np.int32), found.frequencies[is_known]
    return [Posting(known[first:last].copy(), frequencies[first:last].copy()) for first, last in pairwise(borders)]
