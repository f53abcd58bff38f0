"""Checks and cleans a batch of vector changes before an index applies it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.protocols import VectorChanges
from alma.vectors.halves import Halves, are_finite


def checked(changes: VectorChanges, dimension: int) -> VectorChanges:
    """Returns the changes with arrays of the documented types. Raises `ValidationError` when shapes differ or a vector is not finite."""
    count = len(changes.passages)
    vectors: Halves = np.ascontiguousarray(changes.vectors, dtype=np.float16)
    if not count and not vectors.size:
        vectors = vectors.reshape(0, dimension)
    if vectors.shape != (count, dimension):
        raise ValidationError(f"{count} passages need vectors of shape {(count, dimension)}, not {vectors.shape}")
    if np.ndim(changes.removed) != 1:
        raise ValidationError(f"removed passages need one dimension, not shape {np.shape(changes.removed)}")
    if not are_finite(vectors):
        raise ValidationError("a vector has a number that is not finite")
    return VectorChanges(
        upto=changes.upto,
        passages=_column(changes.passages, "passages", np.int64, count),
        memories=_column(changes.memories, "memories", np.int64, count),
        partitions=_column(changes.partitions, "partitions", np.int64, count),
        is_own=_column(changes.is_own, "is_own", np.bool_, count),
        ties=_column(changes.ties, "ties", np.int64, count),
        vectors=vectors,
        removed=np.asarray(changes.removed, dtype=np.int64),
    )


def _column(values: NDArray[Any], name: str, dtype: type[np.generic], count: int) -> NDArray[Any]:
    column = np.asarray(values, dtype=dtype)
    if column.shape != (count,):
        raise ValidationError(f"{count} passages need as many {name}, not shape {column.shape}")
    return column


def without_repeats(changes: VectorChanges) -> VectorChanges:
    """Returns the changes that take effect: without passages that are also removed, and with the last entry of a repeated passage."""
    kept = _last_of_each(changes.passages)
    if len(changes.removed):
        kept &= ~np.isin(changes.passages, changes.removed)
    return chosen(changes, kept)


def chosen(changes: VectorChanges, kept: NDArray[np.bool_]) -> VectorChanges:
    """Returns the changes with these of the passages that are added."""
    if kept.all():
        return changes
    return replace(
        changes,
        passages=changes.passages[kept],
        memories=changes.memories[kept],
        partitions=changes.partitions[kept],
        is_own=changes.is_own[kept],
        ties=changes.ties[kept],
        vectors=changes.vectors[kept],
    )


def _last_of_each(passages: NDArray[np.int64]) -> NDArray[np.bool_]:
    kept = np.ones(len(passages), dtype=np.bool_)
    if bool((passages[1:] > passages[:-1]).all()):
        return kept
    order = np.argsort(passages, kind="stable")
    kept[order[:-1]] = passages[order[1:]] != passages[order[:-1]]
    return kept
