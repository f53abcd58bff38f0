"""Reducers: how several states become one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from alma.errors import ValidationError
from alma_integration import checked_items, checked_json

LARGEST_STATE = 1 << 20
Reduce = Callable[[list[Any]], Any]


def _merge_lists(values: list[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _union(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in _merge_lists(values):
        if not any(type(item) is type(other) and item == other for other in kept):
            kept.append(item)
    return kept


def _merge_dicts(values: list[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for value in values:
        merged.update(value)
    return merged


REDUCERS: dict[str, Reduce] = {
    "latest_wins": lambda values: values[-1],
    "priority_agent": lambda values: values[0],
    "merge_lists": _merge_lists,
    "union": _union,
    "merge_dicts": _merge_dicts,
    "sum": sum,
    "max": max,
    "min": min,
}
"""The reducers by name. Each takes the values of one key, in the order of the states, at least one."""


def reducer_of(given: object, name: str = "reducer") -> Reduce:
    """Returns the reducer of a name, or the function itself."""
    if isinstance(given, str) and given in REDUCERS:
        return REDUCERS[given]
    if not isinstance(given, str) and callable(given):
        return given
    raise ValidationError(f"{name} must be one of {', '.join(REDUCERS)}, or a function of a list of values")


def merged(states: Sequence[Mapping[str, Any]], reducer: object) -> dict[str, Any]:
    """Returns one state of several; keys are in the order in which they first occur."""
    by_key: dict[str, Reduce] = {}
    default = REDUCERS["latest_wins"]
    if isinstance(reducer, Mapping):
        by_key = {str(_checked_key(key)): reducer_of(one, f"reducer of {key!r:.80}") for key, one in reducer.items()}
    else:
        default = reducer_of(reducer)
    keys = dict.fromkeys(key for state in states for key in state)
    found = {key: _reduced(key, by_key.get(key, default), [state[key] for state in states if key in state]) for key in keys}
    return checked_json(found, "the merged state", largest=LARGEST_STATE)


def checked_states(states: object) -> list[dict[str, Any]]:
    """Returns the states of a mapping by agent, or of a list, in their order."""
    values = states.values() if isinstance(states, Mapping) else checked_items(states, "states")
    found = [checked_json(state, "a state", largest=LARGEST_STATE) for state in values]
    if not found:
        raise ValidationError("states is empty; there is nothing to merge")
    return found


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise ValidationError("reducer must be a mapping of keys, which are texts, to reducers")
    return key


def _reduced(key: str, reduce: Reduce, values: list[Any]) -> Any:
    try:
        return reduce(values)
    except (TypeError, ValueError, AttributeError) as error:
        if reduce not in REDUCERS.values():
            raise
        raise ValidationError(f"the values of {key!r:.80} cannot be merged by this reducer: {str(error)[:200]}") from error
