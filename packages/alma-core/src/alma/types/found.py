"""Values that the searches exchange: arrays and numbers, no texts.

Row numbers (`memory`, `passage`, `partition`) are handles of one database, as in `alma.protocols`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Matrix = NDArray[np.float32]
    Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """Changes of the passages of one project since some `seq`, up to and including `upto`. All arrays have one entry per passage.

    `removed` are passage rows that are tombstones from now on; a passage both added and removed is removed. `ties` are 64-bit content
    hashes of the passages' memories: they order equal scores and choose the background sample.
    """

    upto: int
    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    is_own: "NDArray[np.bool_]"
    ties: "Integers"
    vectors: "NDArray[np.float16]"
    removed: "Integers"


@dataclass(frozen=True, slots=True)
class PassageScores:
    """Scored passages, as parallel arrays. `ties` as in `VectorChanges`."""

    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    ties: "Integers"
    is_own: "NDArray[np.bool_]"
    scores: "Vector"


@dataclass(frozen=True, slots=True)
class TextLengths:
    """Memories, ascending, with their partitions and the lengths of their texts in full text, as parallel arrays, as of the journal `seq` `upto`."""

    upto: int
    memories: "Integers"
    partitions: "Integers"
    lengths: "NDArray[np.float32]"


class Candidate(NamedTuple):
    """The columns of a memory that ranking needs, without its text. `seen_at` is in microseconds since 1970.

    A tuple as the store reads it: a question takes dozens, and creating a dataclass of this many fields takes longer than reading them.
    """

    memory: int
    partition: int
    confidence: float
    successes: float | None
    trials: float | None
    seen_at: int
    content_hash: bytes
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    credited_successes: float
    credited_trials: float

    @property
    def usage(self) -> tuple[int, int, int, int, float, float]:
        """Usage counts in the order in which `alma.scoring` takes them."""
        return (self.used, self.ignored, self.thumbs_up, self.thumbs_down, self.credited_successes, self.credited_trials)

    def without_use(self) -> "Candidate":
        """Returns the candidate as if it had never been shown."""
        return self._replace(used=0, ignored=0, thumbs_up=0, thumbs_down=0, credited_successes=0.0, credited_trials=0.0)


@dataclass(frozen=True, slots=True)
class CommonWords:
    """Defines which words of a question are too common to search by: those in more memories of the scope than `number`, and in more than
    `share` of them.

    Where no rarer word of the question occurs, the first common one is used, in the `newest` memories that contain it.
    """

    number: int
    share: float
    newest: int

    def most(self, count: int) -> int:
        """Returns the greatest number of memories that may contain a word that is not common, in a scope of `count` memories."""
        return max(self.number, int(self.share * count))


@dataclass(frozen=True, slots=True)
class TextLists:
    """Posting lists of the words of a question in the memories of a scope: all that BM25 needs.

    `memories` ascend, and `lengths` are those of their texts; memories outside the scope may be among them. The lists of the words are
    concatenated in `places` and `frequencies`: which of the `memories` contain the word, ascending, and how often, where words of others
    count less. `sizes` has the length of each list, `held_by` the number of memories of the scope that contain the word: more than are
    listed, if it is common. `count` is the number of memories in the scope, `total_length` the sum of their lengths.
    """

    memories: "Integers"
    lengths: "NDArray[np.float32]"
    count: int
    total_length: float
    places: "NDArray[np.int32]"
    frequencies: "NDArray[np.float32]"
    sizes: Sequence[int]
    held_by: Sequence[int]


@dataclass(frozen=True, slots=True)
class TextScores:
    """Memories by full text, as parallel arrays. Scores are shares in [0, 1) of a perfect match's; a memory that is not listed has 0."""

    memories: "Integers"
    scores: "NDArray[np.float64]"
