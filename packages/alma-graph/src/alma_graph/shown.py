"""Relations as callers get them, made from the joined edges of a view."""

from collections.abc import Mapping, Sequence
from typing import Any

from alma.errors import ValidationError
from alma.memory.package_records import Records
from alma.types.identity import from_micros
from alma_graph.relating import time_or_none
from alma_graph.rows import SOURCE
from alma_graph.types import Relationship
from alma_graph.view import Joined, View


def find_edge(view: View, key: str, place: int) -> int:
    """Returns the edge of a record at a place. `ValidationError` if the reader has none."""
    column = view.rows.edges.column
    for record in view.rows.find_records(key):
        found = ((column("record") == record) & (column("place") == place) & view.edges).nonzero()[0]
        if len(found):
            return int(found[0])
    raise ValidationError("no relation that this reader may see has that id")


def relation_with(view: View, edge: int) -> Joined:
    """Returns the relation that an edge is part of."""
    column = view.rows.edges.column
    source = int(view.root[column("source")[edge]])
    found = (one for one in view.join(view.edges_of([source], incoming=False)) if edge in one.edges)
    one = next(found, None)
    if one is None:  # its interval is empty: it began when another did that replaces it
        raise ValidationError("that relation does not hold at any time: another of its type began when it did")
    return one


def show(view: View, found: Sequence[Joined]) -> list[Relationship]:
    """Returns joined relations with the names of their ends, their evidence, and what was stated besides.

    One that another of them replaced has the id of that one, as `ended_by`.
    """
    rows, column = view.rows, view.rows.edges.column
    with_more = {rows.key_of(int(column("record")[edge])) for one in found for edge in one.edges if column("has_more")[edge]}
    bodies = {key: one.body for key, one in Records(rows.room, SOURCE).find(with_more).items()} if with_more else {}
    begun = {(one.source, one.type, one.start): one for one in found}
    shown = []
    for one in found:
        following = begun.get((one.source, one.type, one.end))
        ended_by = _id(view, following) if following is not None and view.is_replaced(one) else None
        shown.append(_relationship(view, one, bodies, {} if ended_by is None else {"ended_by": ended_by}))
    return shown


def _id(view: View, one: Joined) -> str:
    """Returns the id of a relation: that of the first statement of it."""
    column, edge = view.rows.edges.column, min(one.edges)
    key = view.rows.key_of(int(column("record")[edge]))
    return f"{key.partition('/')[2]}.{int(column('place')[edge])}"


def _relationship(view: View, one: Joined, bodies: Mapping[str, Mapping[str, Any]], more: Mapping[str, Any]) -> Relationship:
    rows, column = view.rows, view.rows.edges.column
    edges, stated = sorted(one.edges), dict[str, Any]()
    records = [int(column("record")[edge]) for edge in edges]
    for edge, record in zip(edges, records, strict=True):
        if column("has_more")[edge] and (body := bodies.get(rows.key_of(record))) is not None:
            stated |= body["relations"][int(column("place")[edge])].get("properties") or {}
    evidence = [memory for record in records if (memory := rows.evidence_of(record)) is not None]
    start, end = time_or_none(one.start), time_or_none(one.end)
    return Relationship(
        id=_id(view, one),
        source_id=rows.ids[one.source],
        target_id=rows.ids[one.target],
        relation_type=one.type,
        properties={
            **stated,
            **more,
            "source": view.name_of(one.source),
            "target": view.name_of(one.target),
            "evidence": list(dict.fromkeys(evidence)),
        },
        confidence=round(float(max(column("confidence")[edges])), 6),
        created_at=from_micros(min(int(rows.sources.column("recorded")[record]) for record in records)),
        valid_from=None if start is None else from_micros(start),
        valid_to=None if end is None else from_micros(end),
    )
