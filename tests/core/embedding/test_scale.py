"""An embedder that spreads its cosines otherwise learns as the one that was measured; one that tells nothing apart is not believed."""

import numpy as np
import pytest
from numpy.typing import NDArray

from alma.embedding import HashEmbedder
from alma.embedding.scale import ALIKE, SENTENCES, UNRELATED, Scale, scale_of

Rows = NDArray[np.float32]


def unit(rows: NDArray[np.float64]) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def rows_of(alike: float, unrelated: float) -> Rows:
    """Unit vectors of the sentences with these mean cosines: those of a pair share a direction, and all share another."""
    chance = np.random.default_rng(3)
    pairs, own = unit(chance.normal(size=(len(SENTENCES) // 2, 512))), unit(chance.normal(size=(len(SENTENCES), 512)))
    shares = np.sqrt([unrelated, alike - unrelated, 1 - alike])
    common = unit(chance.normal(size=(1, 512)))
    return unit(shares[0] * common + shares[1] * np.repeat(pairs, 2, axis=0) + shares[2] * own)


def test_the_two_means_of_any_embedder_are_those_of_the_measured_one() -> None:
    rows = rows_of(0.9, 0.7)
    scale = scale_of(rows)
    assert scale is not None

    cosines = scale.of((rows @ rows.T).astype(np.float64))

    pair = np.arange(len(SENTENCES)) // 2
    assert cosines[np.triu(pair[:, None] == pair, 1)].mean() == pytest.approx(ALIKE, abs=1e-6)
    assert cosines[pair[:, None] < pair].mean() == pytest.approx(UNRELATED, abs=1e-6)
    assert cosines.max() <= 1.0


def test_a_scale_can_be_taken_back() -> None:
    scale = Scale(slope=3.0, offset=-2.0)

    assert scale.of(scale.back(0.4)) == pytest.approx(0.4)


def test_hashed_words_and_noise_tell_no_meanings_apart() -> None:
    hashed = HashEmbedder(64)

    assert scale_of(hashed.embed(SENTENCES)) is None
    assert scale_of(rows_of(0.1, 0.1)) is None
    assert scale_of(np.ones((len(SENTENCES), 4), np.float32) / 2) is None


def test_no_two_pairs_share_a_sentence() -> None:
    assert len(set(SENTENCES)) == len(SENTENCES) == 48
