"""BM25 as a pure function of the lists that full text keeps."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import CommonWords, TextLists
from alma.retrieval.fusion import COMMON, narrow, score_words

Lists = Sequence[Mapping[int, float]]
"""For each word how often it stands in the memories, by number."""


def lists(words: Lists, lengths: Mapping[int, float], *, held_by: Sequence[int] | None = None) -> TextLists:
    memories = sorted(lengths)
    places = [[memories.index(memory) for memory in sorted(word)] for word in words]
    return TextLists(
        memories=np.array(memories, dtype=np.int64),
        lengths=np.array([lengths[memory] for memory in memories], dtype=np.float32),
        count=len(memories),
        total_length=float(sum(lengths.values())),
        places=np.array([place for each in places for place in each], dtype=np.int32),
        frequencies=np.array([word[memory] for word in words for memory in sorted(word)], dtype=np.float32),
        sizes=[len(word) for word in words],
        held_by=held_by or [len(word) for word in words],
    )


def shares(words: Lists, lengths: Mapping[int, float], **given: Sequence[int]) -> dict[int, float]:
    found = score_words(lists(words, lengths, **given))
    assert found.memories.tolist() == sorted(found.memories.tolist())
    return dict(zip(found.memories.tolist(), found.scores.tolist(), strict=True))


def by_hand(words: Lists, lengths: Mapping[int, float]) -> dict[int, float]:
    """The formula, word by word."""
    count = len(lengths)
    mean = (sum(lengths.values()) + 16 * 600) / (count + 16)
    idfs = [max(math.log((count + 16 - len(word) + 0.5) / (len(word) + 0.5)), 1e-6) for word in words]
    result: dict[int, float] = {}
    for word, idf in zip(words, idfs, strict=True):
        for memory, frequency in word.items():
            part = idf * 2.2 * frequency / (frequency + 1.2 * (0.25 + 0.75 * lengths[memory] / mean))
            result[memory] = result.get(memory, 0.0) + part / (2.2 * sum(idfs))
    return result


memories = st.integers(1, 9)
frequencies = st.integers(1, 40).map(lambda number: number / 2)
words = st.lists(st.dictionaries(memories, frequencies, max_size=9), min_size=1, max_size=5)


@given(words=words, extra=st.sets(memories), length=st.floats(1, 10_000))
def test_every_memory_with_a_word_has_the_share_that_the_formula_gives_it(words: Lists, extra: set[int], length: float) -> None:
    there = sorted({memory for word in words for memory in word} | extra)
    lengths = {memory: float(np.float32(length * (1 + memory % 3))) for memory in there}
    found = shares(words, lengths)
    assert found == pytest.approx(by_hand(words, lengths))
    assert all(0 < share < 1 for share in found.values())


def test_nothing_is_found_where_nothing_is_listed() -> None:
    assert shares([], {}) == {}
    assert shares([{}, {}], {1: 10.0}) == {}


def test_a_word_that_is_nowhere_takes_from_the_share_of_all_others() -> None:
    alone, beside = shares([{1: 1.0}], {1: 10.0}), shares([{1: 1.0}, {}], {1: 10.0})
    assert beside[1] < alone[1]


def test_a_longer_memory_has_less_of_a_word_that_stands_in_it_as_often() -> None:
    found = shares([{1: 1.0, 2: 1.0}], {1: 50.0, 2: 500.0})
    assert found[1] > found[2]


def test_a_word_counts_as_rare_as_it_is_also_where_only_the_newest_with_it_are_listed() -> None:
    lengths = dict.fromkeys(range(100), 10.0)
    listed, common = shares([{99: 1.0}, {1: 1.0}], lengths), shares([{99: 1.0}, {1: 1.0}], lengths, held_by=[60, 1])
    assert common[99] < listed[99]


@pytest.mark.parametrize(("count", "most"), [(0, 4_000), (10_000, 4_000), (1_000_000, 100_000)])
def test_a_word_is_common_that_more_hold_than_four_thousand_and_than_a_twenty_fifth(count: int, most: int) -> None:
    assert COMMON.most(count) == most


def test_a_share_of_a_scope_is_rounded_down() -> None:
    assert CommonWords(number=1, share=0.5, newest=1).most(5) == 2


@given(words=words, kept=st.sets(memories), length=st.floats(1, 10_000))
def test_within_some_memories_the_shares_are_those_of_a_scope_that_holds_only_these(
    words: Lists, kept: set[int], length: float
) -> None:
    lengths = dict.fromkeys(range(1, 10), float(np.float32(length)))
    alone = [{memory: often for memory, often in word.items() if memory in kept} for word in words]
    limited = narrow(lists(words, lengths), np.array(sorted(kept), dtype=np.int64))

    found, expected = score_words(limited), score_words(lists(alone, {memory: lengths[memory] for memory in kept}))

    assert found.memories.tolist() == expected.memories.tolist()
    assert found.scores == pytest.approx(expected.scores, rel=1e-5)
