"""The contract of embedders."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alma.errors import EmbeddingError
from alma.protocols import Embedder
from alma_testing.contracts.texts import few_examples, storable_texts

NewEmbedder = Callable[[], Embedder]

TASKS = (
    "Deploy the auth service to staging",
    "Roll back the payments release",
    "Test the login form validation",
    "Why did the nightly backup fail?",
    "Rename a column without downtime",
)
SAME = 1e-3
"""Two rows are the same if their cosine is at most this far from 1."""
UNIT = 1e-3
"""Tolerance for the length of a row, which should be 1."""


class EmbedderContract:
    """Promises of an `alma.protocols.Embedder`.

    A test class that inherits this defines a fixture `new_embedder`: a callable that returns an embedder, each time with the same
    settings.
    """

    @pytest.fixture
    def embedder(self, new_embedder: NewEmbedder) -> Embedder:
        """An embedder."""
        return new_embedder()

    def test_rows_stand_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        there, back = embedder.embed(TASKS), embedder.embed(TASKS[::-1])
        alone = np.vstack([embedder.embed([text]) for text in TASKS])
        assert_same_rows(there, alone)
        assert_same_rows(back, alone[::-1])

    def test_different_texts_have_different_rows(self, embedder: Embedder) -> None:
        vectors = np.asarray(embedder.embed(TASKS))
        assert np.all((vectors @ vectors.T)[~np.eye(len(TASKS), dtype=np.bool_)] < 1 - SAME)

    def test_there_is_one_row_of_32_bit_floats_a_text(self, embedder: Embedder) -> None:
        for count in (1, 2, 5, 33):
            vectors = embedder.embed([f"{TASKS[n % 5]}, attempt {n}" for n in range(count)])
            assert vectors.shape == (count, embedder.fingerprint.dimension)
            assert vectors.dtype == np.float32

    def test_no_texts_give_no_rows_of_the_right_width(self, embedder: Embedder) -> None:
        vectors = embedder.embed([])
        assert vectors.shape == (0, embedder.fingerprint.dimension)
        assert vectors.dtype == np.float32

    def test_a_text_that_occurs_twice_has_two_equal_rows(self, embedder: Embedder) -> None:
        vectors = embedder.embed([TASKS[0], TASKS[1], TASKS[0]])
        assert vectors.shape[0] == 3
        assert_same_rows(vectors[:1], vectors[2:])

    def test_any_text_has_a_finite_row_of_length_one_or_is_refused(self, embedder: Embedder) -> None:
        @few_examples
        @given(text=storable_texts | st.text())
        @example(text="")
        @example(text=" \t\n ")
        @example(text="before\x00after")
        @example(text="\ud800")
        @example(text="a" * 5_000)
        @example(text="word " * 5_000)
        def check(text: str) -> None:
            try:
                vectors = embedder.embed([text])
            except EmbeddingError:
                return
            assert np.isfinite(vectors).all()
            assert np.linalg.norm(vectors[0].astype(np.float64)) == pytest.approx(1, abs=UNIT)

        check()

    def test_ordinary_texts_are_not_refused_and_have_length_one(self, embedder: Embedder) -> None:
        lengths = np.linalg.norm(embedder.embed(TASKS).astype(np.float64), axis=1)
        assert lengths == pytest.approx(np.ones(len(TASKS)), abs=UNIT)

    def test_a_text_has_the_same_row_in_any_company(self, embedder: Embedder) -> None:
        alone = np.vstack([embedder.embed([text]) for text in TASKS])

        @few_examples
        @given(company=st.lists(st.sampled_from((*TASKS, "short", "word " * 300)), max_size=12), chosen=st.sampled_from(range(5)))
        def check(company: list[str], chosen: int) -> None:
            together = embedder.embed([*company, TASKS[chosen]])
            assert_same_rows(together[-1:], alone[chosen : chosen + 1])

        check()

    def test_eight_threads_get_what_one_gets(self, embedder: Embedder) -> None:
        lists = [[f"{task}, agent {number}" for task in TASKS] for number in range(8)]
        expected = [embedder.embed(texts) for texts in lists]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(embedder.embed, lists * 3))
        for one, other in zip(found, expected * 3, strict=True):
            assert_same_rows(one, other)

    def test_the_caller_may_change_the_rows(self, embedder: Embedder) -> None:
        kept = embedder.embed(TASKS[:2]).copy()
        for text in TASKS[:2]:
            embedder.embed([text])[:] = 0
        assert_same_rows(embedder.embed(TASKS[:2]), kept)

    def test_two_with_one_fingerprint_give_the_same_rows(self, new_embedder: NewEmbedder) -> None:
        one, other = new_embedder(), new_embedder()
        assert one.fingerprint == other.fingerprint
        assert_same_rows(one.embed(TASKS), other.embed(TASKS))


def assert_same_rows(found: object, expected: object) -> None:
    """Fails unless both have rows of the same directions."""
    left, right = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert left.shape == right.shape
    cosines = np.sum(left * right, axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert np.all(cosines >= 1 - SAME), f"cosines of rows that should be the same: {cosines}"
