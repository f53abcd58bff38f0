"""More vectors than there are real ones: `python -m benchmarks.nearest` and `benchmarks.speed` fill large indexes with these.

A made vector lies between two real ones a and b, drawn at random: (1 - w) a + w b, brought to length 1, with w uniform in [.2, .6]. So it is near
one real vector, as a sentence is near others on its topic, and the spread of directions stays that of real sentences. With w up to .6 it has
a cosine of .75 or more with `a` for sentences that have nothing in common, so made vectors crowd around real ones more than real ones do: finding
the nearest among them is rather harder.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 0.2, 0.6
BATCH = 20_000

Halves = NDArray[np.float16]


def batches(real: Halves, count: int, *, seed: int = 0) -> Iterator[Halves]:
    """Yields `count` unit vectors, some thousand at a time: the real ones, then mixtures."""
    for start in range(0, min(len(real), count), BATCH):
        yield real[start : min(start + BATCH, count)]
    drawn = np.random.default_rng(seed)
    for start in range(len(real), count, BATCH):
        size = min(BATCH, count - start)
        one, other = (real[drawn.integers(0, len(real), size)].astype(np.float32) for _ in range(2))
        weight = drawn.uniform(LEAST, MOST, (size, 1)).astype(np.float32)
        mixed = (1 - weight) * one + weight * other
        yield (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float16)
