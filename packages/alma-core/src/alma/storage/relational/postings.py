"""Where words stand, by place in a project's text table, and a cache of that."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.text_index import Integers, WordLists
from alma.storage.relational.text_table import TextScope

MOST_BYTES = 16 << 20
"""The size of all lists together, and of the changes that they have not taken in. A list of a thousand memories takes 8 kB."""

OVERHEAD = 500

MOST_CHANGES = 64
"""The number of changes that are kept for lists that no question asks for meanwhile."""

Places = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Posting:
    """The memories of a project that hold a word, by place in its text table, ascending, and how often; parallel arrays."""

    places: Places
    frequencies: NDArray[np.float32]

    @classmethod
    def of(cls, held: Sequence[tuple[int, float]]) -> "Posting":
        """The memories by place, each with the number of times that it holds the word."""
        places, frequencies = zip(*held, strict=True)
        return cls(np.array(places, dtype=np.int32), np.array(frequencies, dtype=np.float32))

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OVERHEAD + self.places.nbytes + self.frequencies.nbytes

    def after(self, change: "Change", stem: str) -> "Posting":
        """The list of a stem after some texts have changed."""
        added = change.now.get(stem, NOWHERE)
        if not len(change.known):
            return self if added is NOWHERE else self._with(added)
        at = self.places.searchsorted(change.known)
        left = at[self.places.take(at, mode="clip") == change.known] if len(self.places) else at[:0]
        if not len(left) and added is NOWHERE:
            return self
        kept = Posting(np.delete(self.places, left), np.delete(self.frequencies, left))._with(added)
        order = kept.places.argsort(kind="stable")
        return Posting(kept.places[order], kept.frequencies[order])

    def _with(self, added: "Posting") -> "Posting":
        return Posting(np.concatenate([self.places, added.places]), np.concatenate([self.frequencies, added.frequencies]))

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

    def after(self, change: "Change", stem: str) -> "Crowd":
        """The least number after some texts have changed: each may have held the word, in any slot, and may hold it no more."""
        return Crowd(np.maximum(self.held - len(change.known), 0))

    def held_by(self, scope: TextScope) -> int:
        """Returns how many memories of a scope hold the word, at least."""
        return int(self.held.sum() if scope.is_open is None else self.held[scope.is_open[: len(self.held)]].sum())


NOWHERE = Posting(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did to texts: the memories that were `known` before, by place, ascending, and where words stand now in these and in new ones."""

    known: Places
    now: Mapping[str, Posting]

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OVERHEAD + self.known.nbytes + sum(posting.size for posting in self.now.values())

    def among(self, stems: Container[str]) -> "Change":
        """The same for some words alone."""
        return Change(self.known, {stem: posting for stem, posting in self.now.items() if stem in stems})


class Postings:
    """Bounded cache of lists by stem, as of the journal `seq` of `upto`. Not thread-safe.

    A list is brought up to date when it is asked for: of many that are held, a question needs few.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self.clear(upto=0)

    def __len__(self) -> int:
        """Returns the number of lists."""
        return len(self._lists)

    def clear(self, *, upto: int) -> None:
        """Forgets all lists; what is kept next is as of `upto`."""
        self._upto, self._bytes = upto, 0
        self._lists: dict[str, tuple[Posting | Crowd, int]] = {}
        """Each with the number of changes that it has taken in."""
        self._changes: list[Change] = []

    def change(self, change: Change, *, upto: int) -> None:
        """Notes what changed since the last `upto`. When it is full, or after many changes, lists that the last question did not ask for are
        forgotten."""
        needed = change.among(self._lists)
        if len(self._changes) >= MOST_CHANGES or not self._has_room(needed):
            seen = len(self._changes)
            left = {stem: held for stem, (held, number) in self._lists.items() if number == seen}
            self.clear(upto=upto)
            self.keep(left, upto=upto)
            needed = needed.among(self._lists)
        if not self._has_room(needed):
            self.clear(upto=upto)
        elif needed.now or len(needed.known):
            self._changes.append(needed)
            self._bytes += needed.size
        self._upto = upto

    def _has_room(self, change: Change) -> bool:
        return self._bytes + change.size <= self._most_bytes

    def known(self, stems: Iterable[str], *, upto: int) -> dict[str, Posting | Crowd]:
        """The lists that are held as of `upto`."""
        return {stem: self._current(stem) for stem in stems if stem in self._lists} if self._upto == upto else {}

    def keep(self, read: Mapping[str, Posting | Crowd], *, upto: int) -> None:
        """Keeps lists that were read as of `upto`, unless what is held here is older or newer. When it is full, all others are forgotten."""
        if self._upto != upto:
            return
        added = sum([held.size for held in read.values()])
        if self._bytes + added > self._most_bytes:
            self.clear(upto=upto)
        if added <= self._most_bytes:
            self._lists.update({stem: (held, len(self._changes)) for stem, held in read.items()})
            self._bytes += added

    def _current(self, stem: str) -> Posting | Crowd:
        before, number = self._lists[stem]
        held = before
        for change in self._changes[number:]:
            held = held.after(change, stem)
        self._lists[stem] = held, len(self._changes)
        self._bytes += held.size - before.size
        return held


def postings_of(found: WordLists, memories: Integers) -> Sequence[Posting]:
    """The lists of an index by place in a text table that holds `memories`. Memories that it does not hold are left out."""
    places = memories.searchsorted(found.memories)
    is_known = memories.take(places, mode="clip") == found.memories if len(memories) else np.zeros(len(places), dtype=np.bool_)
    ends = np.cumsum(found.sizes, dtype=np.int64)
    borders = np.concatenate([[0], np.concatenate([[0], is_known.cumsum()])[ends]]).tolist()
    known, frequencies = places[is_known].astype(np.int32), found.frequencies[is_known]
    return [Posting(known[first:last].copy(), frequencies[first:last].copy()) for first, last in pairwise(borders)]
