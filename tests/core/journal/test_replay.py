"""Replaying a history gives the rows; replaying it reversed takes them back."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.journal import Change, ReplayError, State, decode_payload, encode_payload, replay, reversed_changes

_values = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
_columns = st.sampled_from(["a", "b", "c"])
_rows = st.fixed_dictionaries({"a": _values, "b": _values, "c": _values})


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Change], State]:
    """Changes that fit each other, and the rows that they leave."""
    state: State = {}
    changes = []
    for _ in range(draw(st.integers(0, 15))):
        place = draw(st.tuples(st.sampled_from(["memory", "usage"]), st.sampled_from(["m1", "m2"])))
        row = state.get(place)
        if row is None:
            state[place] = draw(_rows)
            changes.append(Change(*place, None, dict(state[place])))
        elif draw(st.booleans()):
            changes.append(Change(*place, dict(row), None))
            del state[place]
        else:
            after = draw(st.dictionaries(_columns, _values, min_size=1))
            changes.append(Change(*place, {name: row[name] for name in after}, after))
            row.update(after)
    return changes, state


@pytest.mark.slow
@given(histories())
def test_a_replayed_history_gives_the_rows_it_left(history: tuple[list[Change], State]) -> None:
    changes, expected = history
    state: State = {}
    replay(decode_payload(encode_payload(changes)), state)

    assert state == expected


@pytest.mark.slow
@given(histories(), st.data())
def test_replaying_the_reversed_end_of_a_history_gives_its_beginning(history: tuple[list[Change], State], data: Any) -> None:
    changes, _ = history
    kept = data.draw(st.integers(0, len(changes)))
    state: State = {}
    replay(changes[:kept], state)
    expected = deepcopy(state)

    replay(changes[kept:], state)
    replay(reversed_changes(changes[kept:]), state)
    assert state == expected


@pytest.mark.slow
@given(histories())
def test_reversing_twice_changes_nothing(history: tuple[list[Change], State]) -> None:
    changes, _ = history

    assert list(reversed_changes(reversed_changes(changes))) == changes


ROW: Mapping[str, Any] = {"a": 1, "b": None}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (Change("memory", "m1", None, {"a": 2}), "memory m1 is made twice"),
        (Change("memory", "m2", None, None), "memory m2 is made twice"),
        (Change("memory", "m2", {"a": 1}, {"a": 2}), "memory m2 is not what the change expects"),
        (Change("memory", "m2", {"a": 1}, None), "memory m2 is not what the change expects"),
        (Change("memory", "m1", {"a": 2}, {"a": 3}), "memory m1 is not what the change expects"),
        (Change("memory", "m1", {"a": 2}, None), "memory m1 is not what the change expects"),
        (Change("memory", "m1", {"b": 0}, None), "memory m1 is not what the change expects"),
        (Change("usage", "m1", {"a": 1}, {"a": 3}), "usage m1 is not what the change expects"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_and_leaves_the_rows_alone(change: Change, fault: str) -> None:
    state: State = {("memory", "m1"): dict(ROW)}

    with pytest.raises(ReplayError, match=fault):
        replay([change], state)
    assert state == {("memory", "m1"): ROW}


def test_replaying_does_not_alter_the_changes() -> None:
    changes = [Change("memory", "m1", None, {"a": 1}), Change("memory", "m1", {"a": 1}, {"a": 2})]
    before = deepcopy(changes)

    replay(changes, {})
    assert changes == before
