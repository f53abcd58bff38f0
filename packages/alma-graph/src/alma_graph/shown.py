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
    """Returns joined relations with the names of their ends, their evidence, and what was stated besides."""
    rows, column = view.rows, view.rows.edges.column
    with_more = {rows.key_of(int(column("record")[edge])) for one in found for edge in one.edges if column("has_more")[edge]}
    bodies = {key: one.body for key, one in Records(rows.room, SOURCE).find(with_more).items()} if with_more else {}
    return [_relationship(view, one, bodies) for one in found]


def _relationship(view: View, one: Joined, bodies: Mapping[str, Mapping[str, Any]]) -> Relationship:
    rows, column = view.rows, view.rows.edges.column
    edges = sorted(one.edges)
    records = [int(column("record")[edge]) for edge in edges]
    more: dict[str, Any] = {}
    for edge, record in zip(edges, records, strict=True):
        if column("has_more")[edge] and (body := bodies.get(rows.key_of(record))) is not None:
            more |= body["relations"][int(column("place")[edge])].get("properties") or {}
    evidence = [memory for record in records if (memory := rows.evidence_of(record)) is not None]
    start, end = time_or_none(one.start), time_or_none(one.end)
    return Relationship(
        id=f"{rows.key_of(records[0]).partition('/')[2]}.{int(column('place')[edges[0]])}",
        source_id=rows.ids[one.source],
        target_id=rows.ids[one.target],
        relation_type=one.type,
        properties={
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
