"""Content of one record, read from its body. Records may come from an import: a record that is not of the form is left out, not believed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from alma_graph.naming import LONGEST_VALUE, is_type

Owner = tuple[str | None, str | None]
"""The agent and the user that something belongs to. A user's own, such as a preference, has no agent."""

ALWAYS, FOREVER = -(1 << 62), 1 << 62
"""World times, in microseconds, of what has no beginning and no end."""


class Edge(NamedTuple):
    """A relation in a record, between entities of it by place. `retired` is when it was taken back."""

    source: int
    target: int
    type: str
    start: int
    end: int
    place: int
    confidence: float
    is_single: bool
    has_more: bool
    retired: int | None


class Said(NamedTuple):
    """Content of a record: its owner, its time of storing, and its entities as names and types. Entities in `dropped` were taken out."""

    owner: Owner
    recorded: int
    entities: list[tuple[str, str]]
    edges: list[Edge]
    dropped: frozenset[int]


class Decision(NamedTuple):
    """Decision on two entities, given by their ids: that they are one, the second being another name of the first, or that they are two."""

    owner: Owner
    is_merge: bool
    pair: tuple[str, str]
    at: int


def read_record(body: Mapping[str, Any]) -> Said | None:
    """Returns what a record says, `None` for one that is not of the form."""
    try:
        entities = [(str(name), str(kind)) for name, kind in body["entities"]]
        if any(not name or len(name) > LONGEST_VALUE or not is_type(kind) for name, kind in entities):
            return None
        count = len(entities)
        edges = [_edge(place, one, count) for place, one in enumerate(body["relations"])]
        return Said(_owner(body), _time(body["recorded"], 0), entities, edges, frozenset(map(int, body.get("dropped", ()))))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def read_decision(body: Mapping[str, Any]) -> Decision | None:
    """Returns a decision, `None` for a record that is not of the form."""
    try:
        return Decision(_owner(body), bool(body["merged"]), (str(body["entity"]), str(body["other"])), _time(body["at"], 0))
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def _owner(body: Mapping[str, Any]) -> Owner:
    return body.get("agent") or None, body.get("user_id") or None


def _edge(place: int, one: Mapping[str, Any], count: int) -> Edge:
    """Returns a relation. `ValueError` for one whose ends are not in its record."""
    source, target, get = int(one["source"]), int(one["target"]), one.get
    kind = str(one["type"])
    if not (0 <= source < count and 0 <= target < count and is_type(kind)):
        raise ValueError("a relation has ends in its record and a type")
    retired = get("retired")
    return Edge(
        source, target, kind, _time(get("from"), ALWAYS), _time(get("to"), FOREVER), place, float(get("confidence", 1.0)),
        bool(get("single")), bool(get("properties")), None if retired is None else _time(retired, 0),
    )  # fmt: skip


def _time(value: object, otherwise: int) -> int:
    """Returns a time in microseconds within what arrays hold."""
    return otherwise if value is None else max(ALWAYS, min(int(value), FOREVER))  # type: ignore[call-overload] # ValueError, if it is none
