"""The embedder without a model."""

import os
import subprocess
import sys

import numpy as np
import pytest

from alma.embedding import HashEmbedder
from alma.errors import ConfigurationError

TEXTS = ["Deploy the auth service", "naïve café — 今天", "", "rate limit 429"]
PROGRAM = (
    "import sys; from alma.embedding import HashEmbedder; sys.stdout.write(HashEmbedder().embed(sys.argv[1:]).tobytes().hex())"
)


@pytest.fixture(scope="module")
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "4294967295"])
def test_other_processes_with_other_hash_seeds_give_the_same_bytes(embedder: HashEmbedder, seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *TEXTS],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert bytes.fromhex(done.stdout) == embedder.embed(TEXTS).tobytes()


def test_vectors_are_those_of_revision_1(embedder: HashEmbedder) -> None:
    """Recorded vectors live in databases: whoever changes these numbers must change the revision."""
    (vector,) = embedder.embed(["Deploy the auth service"])
    assert embedder.fingerprint.revision == "1"
    assert np.count_nonzero(vector) == 35
    assert vector[[208, 328, 139]] == pytest.approx([0.457077, -0.387496, 0.36575], abs=1e-5)


@pytest.mark.parametrize(
    ("text", "related"),
    [
        ("database migration", "database migrations"),
        ("authentication timeout", "authentification timeout"),
        ("Fix the flaky checkout tests", "fixed a flaky test of checkout"),
        ("connection_timeout exceeded", "connection timeout exceeded"),
        ("retry with exponential backoff", "exponential back-off retries"),
        ("kubernetes deployment", "kubernets deploymnet"),
    ],
)
def test_a_plural_a_typo_or_another_form_is_nearer_than_an_unrelated_text(
    embedder: HashEmbedder, text: str, related: str
) -> None:
    unrelated = ["Summarise the open tickets", "book a window seat", "日本語の文章", "colour of the logo"]
    given, near, *far = embedder.embed([text, related, *unrelated])
    assert given @ near > 0.3
    assert given @ near > max(given @ other for other in far) + 0.2


def test_unrelated_texts_are_nearly_orthogonal(embedder: HashEmbedder) -> None:
    words = ["deploy", "ticket", "passenger", "compiler", "invoice", "kitchen", "galaxy", "violin", "harbour", "pension"]
    vectors = embedder.embed(words)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(words), 1)]
    assert np.abs(cosines).max() < 0.25
    assert abs(cosines.mean()) < 0.05


def test_stop_words_say_little(embedder: HashEmbedder) -> None:
    bare, dressed, stripped = embedder.embed(
        ["deploy service", "you should deploy this service for me", "you should do this for me"]
    )
    assert bare @ dressed > 0.9
    assert bare @ stripped < 0.2


def test_case_and_compatibility_forms_do_not_matter(embedder: HashEmbedder) -> None:
    plain, shouted, wide = embedder.embed(["file 42", "FILE 42", "\ufb01le \uff14\uff12"])
    np.testing.assert_array_equal(plain, shouted)
    np.testing.assert_array_equal(plain, wide)


def test_a_repeated_word_counts_less_each_time(embedder: HashEmbedder) -> None:
    once, often = embedder.embed(["error disk", "error error error error disk"])
    assert 0.8 < once @ often < 0.99


def test_all_texts_without_a_word_share_one_vector(embedder: HashEmbedder) -> None:
    vectors = embedder.embed(["", "  ", "?!", "—"])
    assert len({vector.tobytes() for vector in vectors}) == 1


def test_the_tail_of_a_very_long_word_counts(embedder: HashEmbedder) -> None:
    left, right, other = embedder.embed(["a1b2" * 30 + "tail", "a1b2" * 30 + "tale", "zzzz" * 30 + "tail"])
    assert left @ other < left @ right < 1


def test_a_text_that_utf8_cannot_hold_is_embedded_all_the_same(embedder: HashEmbedder) -> None:
    assert np.linalg.norm(embedder.embed(["half a pair: a\ud800b"])) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("dimension", [16, 100, 768, 4096])
def test_any_dimension_in_range_is_given(dimension: int) -> None:
    embedder = HashEmbedder(dimension)
    assert embedder.embed(TEXTS).shape == (4, dimension)
    assert embedder.fingerprint.dimension == dimension


@pytest.mark.parametrize("dimension", [-1, 0, 15, 4097])
def test_a_dimension_out_of_range_is_an_error_that_names_the_range(dimension: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"from 16 to 4096, not {dimension}"):
        HashEmbedder(dimension)
