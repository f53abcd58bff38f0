"""Float16 vectors: conversion, checks and hashes of their content."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]

EXPONENT = 0x7C00
LOOKED_AT = 4_096
"""Vectors that are checked at once: as many as stay in the processor's cache."""

_KEPT_BITS = np.uint32(0x8FFFE000).view(np.int32)
_EXPONENT_GAP = np.float32(2.0**112)
_TIES, _PARTITIONS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SEED = 20_261_125


def widened(halves: Halves | Matrix) -> Matrix:
    """Returns the same numbers as float32. They must be finite. Seven times as fast as numpy's own conversion.

    Sign, exponent and fraction move to their places in float32. The exponent is then 112 too small, also for subnormal numbers, and a
    multiplication by 2**112 corrects it.
    """
    if halves.dtype != np.float16:
        return halves.astype(np.float32, copy=False)
    bits = np.ascontiguousarray(halves).view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _KEPT_BITS
    floats = bits.view(np.float32)
    floats *= _EXPONENT_GAP
    return floats


def are_finite(vectors: Halves) -> bool:
    """Checks that no exponent has all bits set. Integer arithmetic takes a tenth of the time of a float16 conversion."""
    bits = vectors.view(np.int16)
    return not any(
        bool(((bits[start : start + LOOKED_AT] & EXPONENT) == EXPONENT).any()) for start in range(0, len(bits), LOOKED_AT)
    )


def content_keys(partitions: Integers, ties: Integers, vectors: Halves) -> Integers:
    """Returns a hash of the partition, tie and vector of each passage, the same in every process. Others than equal passages collide almost
    never; they are compared by partition and tie as well, so only passages of one content could be taken for each other."""
    words = np.ascontiguousarray(vectors)
    if missing := -words.shape[1] % 4:
        words = np.pad(words, ((0, 0), (0, missing)))
    hashes = np.vecdot(words.view(np.uint64), _multipliers(words.shape[1] // 4))
    keys: NDArray[np.uint64] = hashes ^ ties.view(np.uint64) * _TIES ^ partitions.view(np.uint64) * _PARTITIONS
    return keys.view(np.int64)


@lru_cache(maxsize=4)
def _multipliers(count: int) -> NDArray[np.uint64]:
    """Returns odd numbers: then a change of a single word always changes the sum of products."""
    return np.random.default_rng(_SEED).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
