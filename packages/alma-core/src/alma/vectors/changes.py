"""Changes that fit together."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.protocols import VectorChanges
from alma.vectors.blocks import Halves

EXPONENT = 0x7C00


def checked(changes: VectorChanges, dimension: int) -> VectorChanges:
    """The same with arrays of the promised types. `ValidationError` when shapes differ or a vector is not finite."""
    count = len(changes.passages)
    vectors: Halves = np.ascontiguousarray(changes.vectors, dtype=np.float16)
    if not count and not vectors.size:
        vectors = vectors.reshape(0, dimension)
    if vectors.shape != (count, dimension):
        raise ValidationError(f"{count} passages need vectors of shape {(count, dimension)}, not {vectors.shape}")
    if np.ndim(changes.removed) != 1:
        raise ValidationError(f"removed passages need one dimension, not shape {np.shape(changes.removed)}")
    for name in ("passages", "memories", "partitions", "is_own", "ties"):
        if np.shape(getattr(changes, name)) != (count,):
            raise ValidationError(f"{count} passages need as many {name}, not shape {np.shape(getattr(changes, name))}")
    if not _is_finite(vectors):
        raise ValidationError("a vector has a number that is not finite")
    return VectorChanges(
        upto=changes.upto,
        passages=np.asarray(changes.passages, dtype=np.int64),
        memories=np.asarray(changes.memories, dtype=np.int64),
        partitions=np.asarray(changes.partitions, dtype=np.int64),
        is_own=np.asarray(changes.is_own, dtype=np.bool_),
        ties=np.asarray(changes.ties, dtype=np.int64),
        vectors=vectors,
        removed=np.asarray(changes.removed, dtype=np.int64),
    )


def without_repeats(changes: VectorChanges) -> VectorChanges:
    """Only what is really added: not what is removed as well, and of a passage that comes twice the last."""
    kept = _last_of_each(changes.passages)
    if len(changes.removed):
        kept &= ~np.isin(changes.passages, changes.removed)
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


def _is_finite(vectors: Halves) -> bool:
    """Whether no exponent is all ones: by integers, a tenth of the time that converting float16 takes."""
    return not bool(((vectors.view(np.int16) & EXPONENT) == EXPONENT).any())
