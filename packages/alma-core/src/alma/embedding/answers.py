"""Parses the response of an `/embeddings` endpoint into vectors."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AnswerError(Exception):
    """Raised for a response that does not match the request; the text says how."""


def rows_of(answer: bytes, *, count: int, dimension: int) -> "NDArray[np.float32]":
    """Returns `count` unit rows in the order of their `index`. Raises `AnswerError` for wrong counts or lengths and for values that no
    vector has."""
    items = _items(answer)
    if len(items) != count:
        raise AnswerError(f"it gave {len(items)} vectors for {count} texts")
    if sorted(_index(item) for item in items) != list(range(count)):
        raise AnswerError("its vectors are not numbered from 0 without gaps")
    rows = np.empty((count, dimension), np.float64)
    for item in items:
        rows[item["index"]] = _row(item.get("embedding"), dimension)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise AnswerError("it gave a vector with values that are not finite")
    if not lengths.all():
        raise AnswerError("it gave a vector of zeros")
    unit: NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit


def _items(answer: bytes) -> Sequence[dict[str, Any]]:
    try:
        items = json.loads(answer)["data"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise AnswerError("its answer is not JSON with `data`") from error
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise AnswerError("`data` of its answer is not a list of objects")
    return items


def _index(item: dict[str, Any]) -> int:
    index = item.get("index")
    if type(index) is not int:
        raise AnswerError("one of its vectors has no number")
    return index


def _row(values: Any, dimension: int) -> "NDArray[np.float64]":
    if not isinstance(values, list) or any(type(value) not in (float, int) for value in values):
        raise AnswerError("one of its vectors is not a list of numbers")
    if len(values) != dimension:
        raise AnswerError(
            f"it gave vectors of {len(values)} dimensions, but {dimension} are expected; set embedding_dim to {len(values)}"
        )
    try:
        return np.array(values, np.float64)
    except OverflowError as error:
        raise AnswerError("it gave a vector with values that are not finite") from error
