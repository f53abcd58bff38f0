"""Texts that a new one may tell again: a bounded set, so that the cost of comparing does not grow with what was learned."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from alma.learning.wording import Stems, Wording, wording
from alma.text import spelt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Rows = NDArray[np.intp]

TRIED = 8
"""So many of the nearest are compared by their words: the very nearest may say the opposite, and the next the same."""

Same = Callable[[Wording, Wording, float], bool]
"""Whether two texts are the same, given their cosine."""

MayBe = Callable[[str, str, float], bool]
"""Whether they may be, told more quickly."""

_FIRST_ROOM = 8
_DIGITS = 5
"""Cosines are rounded to so many digits: where a row stands may change its last bits, and never decides."""


@dataclass(slots=True)
class _Entry:
    text: str
    normal: str
    core: Stems | None
    row: int | None


class KnownTexts:
    """At most `capacity` texts under keys. What was put in last stays longest, what is to be kept longer still.

    Below the cosine that `least` gives for a text it is the same as another in the same words alone; without it, equal telling words are compared
    whatever the vectors.
    The same calls in the same order give the same answers. Not thread-safe.
    """

    def __init__(
        self, same: Same, *, capacity: int, least: Callable[[str], float] | None = None, may_be: MayBe | None = None
    ) -> None:
        self._same = same
        self._may_be = may_be
        self._capacity = capacity
        self._least = least
        self._entries: dict[str, _Entry] = {}  # oldest first
        self._loose: dict[str, None] = {}  # those that need not be kept, oldest first
        self._by_words: dict[str, dict[str, None]] = {}
        self._by_core: dict[Stems, dict[str, None]] = {}
        self._keys: list[str | None] = []
        self._free: list[int] = []
        self._vectors: Vectors = np.zeros((0, 0), np.float32)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def touch(self, key: str, *, keep: bool) -> None:
        """Makes a known text the newest."""
        self._entries[key] = self._entries.pop(key)
        self._loose.pop(key, None)
        if not keep:
            self._loose[key] = None

    def add(self, key: str, text: str, vector: bytes | None, *, keep: bool) -> str | None:
        """Takes in a text with its float16 vector as the newest, in place of what has this key; the key that had to go for it, if any.

        A text without a vector is known by its words alone.
        """
        self.discard(key)
        gone = self._oldest() if len(self._entries) == self._capacity else None
        if gone is not None:
            self.discard(gone)
        normal = spelt(text)
        core = wording(text).core if self._least is None else None
        self._entries[key] = _Entry(text, normal, core, None if vector is None else self._placed(key, unpacked(vector)))
        if not keep:
            self._loose[key] = None
        self._by_words.setdefault(normal, {})[key] = None
        if core is not None:
            self._by_core.setdefault(core, {})[key] = None
        return gone

    def best(self, text: str, vector: bytes) -> str | None:
        """The key of the text that this one tells again: in the same words, else the nearest that is the same. `None` if none is."""
        if not self._entries:
            return None
        in_same_words = self._by_words.get(spelt(text))
        if in_same_words:
            return min(in_same_words)
        for cosine, key in self._candidates(text, unpacked(vector)):
            other = self._entries[key].text
            if self._may_be is not None and not self._may_be(text, other, -cosine):
                continue
            if self._same(wording(text), wording(other), -cosine):
                return key
        return None

    def discard(self, key: str) -> None:
        """Lets go of a text; does nothing if it is not known."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._loose.pop(key, None)
        _drop(self._by_words, entry.normal, key)
        if entry.core is not None:
            _drop(self._by_core, entry.core, key)
        if entry.row is not None:
            self._vectors[entry.row] = 0
            self._keys[entry.row] = None
            self._free.append(entry.row)

    def _candidates(self, text: str, vector: "Vectors") -> list[tuple[float, str]]:
        """Those worth comparing by their words with their cosines times -1, nearest first: the nearest, and those with the same telling words."""
        found = {} if self._least else dict.fromkeys(self._by_core.get(wording(text).core, ()), 0.0)
        least = self._least(text) if self._least else -2.0
        if self._keys:
            cosines = np.round(self._vectors @ vector, _DIGITS)
            near = self._nearest(cosines, (cosines >= least).nonzero()[0])
            rows = {self._entries[key].row for key in found} | near
            found |= {key: -cosines.item(row) for row in rows if row is not None and (key := self._keys[row]) is not None}
        return sorted((cosine, key) for key, cosine in found.items())

    def _nearest(self, cosines: "Vectors", rows: "Rows") -> set[int]:
        """The `TRIED` rows with the greatest cosines; of equal ones those with the smallest keys, wherever they stand."""
        if len(rows) > TRIED:
            limit = np.partition(cosines[rows], -TRIED)[-TRIED]
            rows = rows[cosines[rows] >= limit]
        by_key = sorted(rows.tolist(), key=lambda row: (-cosines.item(row), self._keys[row] or ""))
        return set(by_key[:TRIED])

    def _oldest(self) -> str:
        return next(iter(self._loose or self._entries))

    def _placed(self, key: str, vector: "Vectors") -> int:
        if not self._free:
            self._grow(len(vector))
        row = self._free.pop()
        self._vectors[row] = vector
        self._keys[row] = key
        return row

    def _grow(self, dimension: int) -> None:
        held = len(self._keys)
        size = min(max(2 * held, _FIRST_ROOM), self._capacity)
        larger = np.zeros((size, dimension), np.float32)
        larger[:held] = self._vectors if held else 0
        self._vectors = larger
        self._keys.extend([None] * (size - held))
        self._free = list(range(held, size))[::-1]


@lru_cache(maxsize=8)
def unpacked(vector: bytes) -> "Vectors":
    """A float16 vector as it is computed with. It cannot be written to, for whoever asks next gets the same one."""
    found = np.frombuffer(vector, dtype="<f2").astype(np.float32)
    found.flags.writeable = False
    return found


def _drop(index: dict[Stems, dict[str, None]] | dict[str, dict[str, None]], place: object, key: str) -> None:
    keys = index[place]  # type: ignore[index] # each index is asked for its own keys
    del keys[key]
    if not keys:
        del index[place]  # type: ignore[arg-type]
