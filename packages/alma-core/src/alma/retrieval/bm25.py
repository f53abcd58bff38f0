"""BM25 over the words of a question, within a scope: a pure function of the posting lists of full text.

A score is a *share* in [0, 1): the BM25 of a memory divided by the most that BM25 gives for these words. BM25 is the sum over the words
of idf times a factor below k1 + 1. Words of others (an assistant, a tool) weigh less, as a weaker stream does in BM25F (Robertson and
Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond"). A scope is assumed to hold a few more, unrelated memories. This
prior on the rarity of a word is needed because in a scope of one memory no word would count otherwise.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from alma.types.stored import CommonWords, TextLists, TextScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1 = 1.2
B = 0.75
PRIOR_MEMORIES = 16

PRIOR_LENGTH = 600.0
PRIOR_LENGTHS = 16
"""The mean length is shrunk to `PRIOR_LENGTH`, the length of a usual text, with the weight of this many texts."""

COMMON = CommonWords(number=4_000, share=0.1, newest=1_000)
"""Common words say least. Without them .99 of the best 50 stay among a million memories; with a share of .04 .95 did, hardly quicker."""


def scored(found: TextLists) -> TextScores:
    """Returns every memory in one of the lists, ascending, with its share of the greatest possible score."""
    idfs = [_idf(held_by, found.count) for held_by in found.held_by]
    frequencies = found.frequencies.astype(np.float64)
    weights = np.repeat([idf * (K1 + 1) for idf in idfs], found.sizes)
    total = np.bincount(found.places, weights * frequencies / (frequencies + _norms(found)))
    named = np.flatnonzero(total > 0)
    return TextScores(found.memories[named], total[named] / ((K1 + 1) * sum(idfs)))


def within(found: TextLists, memories: "NDArray[np.int64]") -> TextLists:
    """Returns the lists as if the scope held only these memories, which ascend. Their mean length is taken to be that of the scope."""
    kept = np.isin(found.memories, memories)
    new_places = np.cumsum(kept, dtype=np.int32) - 1
    starts = np.concatenate([[0], np.cumsum(found.sizes)]).astype(np.int64)
    listed = kept[found.places]
    before = np.concatenate([[0], np.cumsum(listed)])
    sizes = (before[starts[1:]] - before[starts[:-1]]).tolist()
    share = len(memories) / found.count if found.count else 0.0
    return TextLists(
        memories=found.memories[kept],
        lengths=found.lengths[kept],
        count=len(memories),
        total_length=found.total_length * share,
        places=new_places[found.places[listed]].astype(np.int32),
        frequencies=found.frequencies[listed],
        sizes=sizes,
        held_by=sizes,
    )


def _norms(found: TextLists) -> "NDArray[np.float64]":
    """Returns the length norm of each frequency: greater in a memory that is longer than the mean."""
    mean = (found.total_length + PRIOR_LENGTHS * PRIOR_LENGTH) / (found.count + PRIOR_LENGTHS)
    norms: NDArray[np.float64] = K1 * (1 - B + B * found.lengths[found.places].astype(np.float64) / mean)
    return norms


def _idf(held_by: int, count: int) -> float:
    total = count + PRIOR_MEMORIES
    return max(math.log((total - held_by + 0.5) / (held_by + 0.5)), 1e-6)
