"""What the searches hand to one another: arrays and figures, no texts.

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
    """What happened to the passages of one project since some `seq`, up to and with `upto`. All arrays have one entry a passage.

    `removed` are passage rows that are tombstones from now on; a passage both added and removed is removed. `ties` are 64-bit content hashes
    of the passages' memories: they order equal scores and choose the background sample.
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


class Candidate(NamedTuple):
    """What ranking needs of a memory, without its text. `seen_at` is in microseconds since 1970.

    A tuple as the store reads it: a question takes dozens, and to make a dataclass of so many fields takes longer than to read them.
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
        """What was counted when it was shown, in the order in which `alma.scoring` takes it."""
        return (self.used, self.ignored, self.thumbs_up, self.thumbs_down, self.credited_successes, self.credited_trials)


@dataclass(frozen=True, slots=True)
class CommonWords:
    """Which words of a question are too common to be searched by: those that more memories of the scope hold than `number`, and than `share` of them.

    Where no rarer word of the question occurs, the first common one is searched by, in the `newest` memories that hold it.
    """

    number: int
    share: float
    newest: int

    def most(self, count: int) -> int:
        """By how many memories a word is held at most that is not common, in a scope of `count` memories."""
        return max(self.number, int(self.share * count))


@dataclass(frozen=True, slots=True)
class TextLists:
    """Where the words of a question stand in the memories of a scope: all that BM25 has to know.

    `memories` ascend, and `lengths` are those of their texts; others than those of the scope may be among them. The lists of the words stand one
    behind the other in `places` and `frequencies`: which of the `memories` hold the word, ascending, and how often, where others' words count less.
    `sizes` says how long each list is, `held_by` how many memories of the scope hold the word: more than are listed, if it is common.
    `count` is the number of memories in the scope, `total_length` the sum of their lengths.
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
    """Memories by full text, as parallel arrays. Scores are shares in [0, 1) of what a perfect match would have; one not listed has 0."""

    memories: "Integers"
    scores: "NDArray[np.float64]"
