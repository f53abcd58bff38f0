"""Numbers of 16 bits become numbers of 32 bits."""

import numpy as np

from alma.vectors.arrays import widen


def test_every_finite_half_is_widened_as_numpy_does() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)].reshape(-1, 8)
    assert widen(halves).view(np.uint32).tolist() == halves.astype(np.float32).view(np.uint32).tolist()
    assert widen(halves[::3]).tolist() == halves[::3].astype(np.float32).tolist()


def test_nothing_is_widened_to_nothing() -> None:
    assert widen(np.empty((0, 8), dtype=np.float16)).shape == (0, 8)
