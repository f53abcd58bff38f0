"""Ranks the turns of conversations that were found: which of them is it that answers the question? Pure.

A turn is judged against the other turns of these conversations, by its nearest sentence and by its words. What stands next to it counts, because a
question and its answer, or a fact and the remark on it, are neighbours; so do the conversation's own place and who speaks, where the question
names that person.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alma.retrieval import fusion
from alma.retrieval.fusion import K1, PRIOR_MEMORIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

DENSE = fusion.Arm(usual_mean=0.10, usual_deviation=0.12)
TEXT = fusion.Arm(usual_mean=0.03, usual_deviation=0.08, weight=0.8)

B = 0.4
"""Length norm of BM25: less than for memories, since a short turn is no sign of a topic."""

PRIOR_LENGTH = 200.0
"""Length of a usual turn, in characters."""

OF_CONVERSATION = 1.28
"""Weight of the fused z of the conversation."""

OF_NAMED = 1.5
"""The gain of a turn whose speaker is the only person that the question names."""

OF_NEIGHBOURS = 0.3
"""Share of the two neighbours' z."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of some conversations as parallel arrays, those of a conversation together and in order.

    `cosines` are those of the nearest sentence, 0 without one. `frequencies` has a row a turn and a column a word of the question, weighted by who
    speaks. `standings` are the fused z of the conversations.
    """

    conversations: "Integers"
    cosines: "Floats"
    frequencies: "Floats"
    lengths: "Floats"
    is_named: "NDArray[np.bool_]"
    standings: "Floats"


def turn_scores(turns: Turns, *, by_meaning: bool = True, by_words: bool = True) -> "Floats":
    """Returns a score a turn; greater is better, 0 is nothing special. Turns of all the conversations compare with each other."""
    own = np.zeros(len(turns.cosines))
    if by_meaning:
        own += DENSE.weight * _standardised(turns.cosines, DENSE)
    if by_words:
        own += TEXT.weight * _standardised(shares(turns), TEXT)
    return own + OF_NAMED * turns.is_named + OF_NEIGHBOURS * _beside(own, turns.conversations) + OF_CONVERSATION * turns.standings


def shares(turns: Turns) -> "Floats":
    """Returns the share of the greatest possible BM25 that each turn reaches. Rarity and mean length are those of these turns."""
    idfs = rarities(turns.frequencies)
    total = (K1 + 1) * float(idfs.sum())
    if not total:
        return np.zeros(len(turns.cosines))
    mean = (turns.lengths.sum() + PRIOR_MEMORIES * PRIOR_LENGTH) / (len(turns.lengths) + PRIOR_MEMORIES)
    norms = K1 * (1 - B + B * turns.lengths / mean)
    found: Floats = np.vecdot(turns.frequencies * (K1 + 1) / (turns.frequencies + norms[:, None]), idfs) / total
    return found


def rarities(frequencies: "Floats") -> "Floats":
    """Returns the idf of each word, among these turns and a few imagined ones."""
    count = len(frequencies) + PRIOR_MEMORIES
    held_by = (frequencies > 0).sum(axis=0)
    return np.array([max(math.log((count - held + 0.5) / (held + 0.5)), 1e-6) for held in held_by.tolist()])


def _standardised(scores: "Floats", arm: fusion.Arm) -> "Floats":
    return fusion.standardised(scores, fusion.Background.of(scores, arm))


def _beside(scores: "Floats", conversations: "Integers") -> "Floats":
    """The sum of the scores of the turns before and after, within the conversation."""
    is_same = conversations[1:] == conversations[:-1]
    beside = np.zeros(len(scores))
    beside[1:] += np.where(is_same, scores[:-1], 0.0)
    beside[:-1] += np.where(is_same, scores[1:], 0.0)
    return beside
