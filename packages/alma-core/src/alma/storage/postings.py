"""Where the words stand that were asked for: read from full text once, and kept up to date as memories are added."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 16 << 20
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
        """This and that of newer memories."""
        return Posting(
            np.concatenate([self.memories, newer.memories]),
            np.concatenate([self.frequencies, newer.frequencies]),
            self.entries + newer.entries,
            self.held_by + newer.held_by,
        )


NOWHERE = Posting(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32), 0, 0)

Piece = tuple[int, float, Mapping[str, int]]
"""A memory, what a word weighs in this text of it, the words with how often they stand there. Memories ascend."""

Entry = tuple[int, float, int]
"""A memory, what a word weighs in one text of it, how often it stands there."""

ENTRY_BYTES = 160


class Postings:
    """Lists by word, those asked for last, or of all words. A cache: `upto` is the newest journal `seq` in all of them. Not thread-safe.

    What is added since a word was asked for waits beside its list, for most words are not asked for again.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.upto = 0
        self._most_bytes = most_bytes
        self._bytes = 0
        self._is_whole = False
        self._lists: OrderedDict[str, Posting] = OrderedDict()
        self._newer: dict[str, list[Entry]] = {}

    @property
    def takes_words(self) -> bool:
        """Whether there is anything that new memories could change."""
        return self._is_whole or bool(self._lists)

    def known(self, words: Iterable[str], *, upto: int) -> dict[str, Posting]:
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

    def keep(self, read: Mapping[str, Posting], *, upto: int, is_whole: bool = False) -> None:
        """Takes lists that were read as of `upto`, those of all words if `is_whole`; they are dropped if these here are older or newer."""
        if self.upto == upto:
            self._is_whole = self._is_whole or is_whole
            for word, posting in read.items():
                self._drop(word)
                self._lists[word] = posting
                self._bytes += posting.size
            self._drop_oldest()

    def add(self, pieces: Iterable[Piece], *, upto: int) -> None:
        """Brings all lists up to date: memories were added since, each of a greater number than any before, and nothing else was changed."""
        self.upto = HALF_DONE
        for memory, weight, words in pieces:
            for word in words if self._is_whole else words.keys() & self._lists.keys():
                if word not in self._lists:
                    self._lists[word] = NOWHERE
                    self._bytes += NOWHERE.size
                if self._lists[word].limit is None:
                    self._newer.setdefault(word, []).append((memory, weight * words[word], words[word]))
                    self._bytes += ENTRY_BYTES
        self._drop_oldest()
        self.upto = upto

    def clear(self, *, upto: int) -> None:
        """Forgets all lists."""
        self._lists.clear()
        self._newer.clear()
        self._bytes, self._is_whole, self.upto = 0, False, upto

    def _up_to_date(self, word: str) -> Posting:
        """The list of a word with what was added since."""
        entries = self._newer.pop(word, None)
        if entries:
            before = self._lists[word]
            self._lists[word] = before.followed_by(_posting(entries))
            self._bytes += self._lists[word].size - before.size - ENTRY_BYTES * len(entries)
        return self._lists[word]

    def _drop(self, word: str) -> None:
        posting = self._lists.pop(word, None)
        if posting is not None:
            self._bytes -= posting.size + ENTRY_BYTES * len(self._newer.pop(word, ()))

    def _drop_oldest(self) -> None:
        while self._bytes > self._most_bytes:
            self._is_whole = False
            self._drop(next(iter(self._lists)))


def _posting(entries: Sequence[Entry]) -> Posting:
    frequencies: dict[int, float] = {}
    for memory, frequency, _ in entries:
        frequencies[memory] = frequencies.get(memory, 0.0) + frequency
    return Posting(
        np.fromiter(frequencies, dtype=np.int32),
        np.fromiter(frequencies.values(), dtype=np.float32),
        entries=sum(count for _, _, count in entries),
        held_by=len(frequencies),
    )
