"""Where the words stand that were asked for: read from full text once, and kept up to date as memories are added."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from alma.storage.text_table import OTHER_WEIGHT, Integers, TextScope

MOST_BYTES = 16 << 20
"""What all lists together may take. A list of a thousand memories takes 8 kB."""

OVERHEAD = 500
ENTRY_BYTES = 120
HALF_DONE = -1


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
        """How many memories of a scope hold the word."""
        return len(self.within(scope).places)

    def followed_by(self, newer: "Posting") -> "Posting":
        """This and that of newer memories."""
        return Posting(np.concatenate([self.places, newer.places]), np.concatenate([self.frequencies, newer.frequencies]))


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many memories of each slot hold a word, at least: all that is kept of a long list, enough to see that the word is common."""

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
        """How many memories of a scope hold the word, at least."""
        return int(self.held.sum() if scope.is_open is None else self.held[scope.is_open[: len(self.held)]].sum())


NOWHERE = Posting(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32))

Piece = tuple[int, float, Mapping[str, int]]
"""The place of a memory, what a word weighs in this text of it, the words with how often they stand there. Places ascend."""


class Postings:
    """Lists by word, those asked for last, or of all words. A cache: `upto` is the newest journal `seq` in all of them. Not thread-safe.

    What is added since a word was asked for waits beside its list, for most words are not asked for again.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.upto = 0
        self._most_bytes = most_bytes
        self._bytes = 0
        self._is_whole = False
        self._lists: OrderedDict[str, Posting | Crowd] = OrderedDict()
        self._newer: dict[str, list[tuple[int, float]]] = {}

    @property
    def takes_words(self) -> bool:
        """Whether there is anything that new memories could change."""
        return self._is_whole or bool(self._lists)

    def known(self, words: Iterable[str], *, upto: int) -> dict[str, Posting | Crowd]:
        """The lists that there are, as of `upto`: none, if these are older or newer."""
        if self.upto != upto:
            return {}
        found = {}
        for word in words:
            if word in self._lists:
                found[word] = self._up_to_date(word)
                self._lists.move_to_end(word)
            elif self._is_whole:
                found[word] = NOWHERE
        return found

    def keep(self, read: Mapping[str, Posting | Crowd], *, upto: int, is_whole: bool = False) -> None:
        """Takes lists that were read as of `upto`, those of all words if `is_whole`; they are dropped if these here are older or newer."""
        if self.upto == upto:
            self._is_whole = self._is_whole or is_whole
            for word, held in read.items():
                self._drop(word)
                self._lists[word] = held
                self._bytes += held.size
            self._drop_oldest()

    def add(self, pieces: Iterable[Piece], *, upto: int) -> None:
        """Brings all lists up to date: memories were added since, each at a greater place than any before, and nothing else was changed."""
        self.upto = HALF_DONE
        for place, weight, words in pieces:
            for word in words if self._is_whole else words.keys() & self._lists.keys():
                if word not in self._lists:
                    self._lists[word] = NOWHERE
                    self._bytes += NOWHERE.size
                if isinstance(self._lists[word], Posting):
                    self._newer.setdefault(word, []).append((place, weight * words[word]))
                    self._bytes += ENTRY_BYTES
        self._drop_oldest()
        self.upto = upto

    def clear(self, *, upto: int) -> None:
        """Forgets all lists."""
        self._lists.clear()
        self._newer.clear()
        self._bytes, self._is_whole, self.upto = 0, False, upto

    def _up_to_date(self, word: str) -> Posting | Crowd:
        """The list of a word with what was added since."""
        before, entries = self._lists[word], self._newer.pop(word, None)
        if entries and isinstance(before, Posting):
            self._lists[word] = before.followed_by(_posting(entries))
            self._bytes += self._lists[word].size - before.size - ENTRY_BYTES * len(entries)
        return self._lists[word]

    def _drop(self, word: str) -> None:
        held = self._lists.pop(word, None)
        if held is not None:
            self._bytes -= held.size + ENTRY_BYTES * len(self._newer.pop(word, ()))

    def _drop_oldest(self) -> None:
        while self._bytes > self._most_bytes:
            self._is_whole = False
            self._drop(next(iter(self._lists)))


def postings_of(listed: Sequence[Integers], memories: Integers) -> list[Posting]:
    """The memories among those known, of lists of documents: each ascends, with one entry each time that the word stands there."""
    documents = np.concatenate(listed)
    ends = np.cumsum([len(each) for each in listed])
    is_first = np.ones(len(documents), dtype=np.bool_)
    is_first[1:] = documents[1:] >> 1 != documents[:-1] >> 1
    is_first[ends[:-1][ends[:-1] < len(documents)]] = True
    starts = is_first.nonzero()[0]
    weights = np.where(documents & 1, OTHER_WEIGHT, 1.0)
    frequencies = (np.add.reduceat(weights, starts) if len(starts) else weights).astype(np.float32)
    holding = documents[starts] >> 1
    places = memories.searchsorted(holding)
    is_known = memories.take(places, mode="clip") == holding if len(memories) else np.zeros(len(places), dtype=np.bool_)
    borders = [0, *np.concatenate([[0], is_known.cumsum()])[starts.searchsorted(ends)].tolist()]
    places, frequencies = places[is_known].astype(np.int32), frequencies[is_known]
    return [Posting(places[first:last].copy(), frequencies[first:last].copy()) for first, last in pairwise(borders)]


def _posting(entries: Sequence[tuple[int, float]]) -> Posting:
    frequencies: dict[int, float] = {}
    for place, frequency in entries:
        frequencies[place] = frequencies.get(place, 0.0) + frequency
    return Posting(np.fromiter(frequencies, dtype=np.int32), np.fromiter(frequencies.values(), dtype=np.float32))
