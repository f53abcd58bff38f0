"""Writes of a graph: what a caller states, takes back, and decides on entities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma.errors import ConflictError, ScopeViolationError, ValidationError
from alma.memory.package_records import Records
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import to_micros
from alma.types.memories import AnyMemory
from alma_graph.naming import THING
from alma_graph.records import FOREVER, Owner
from alma_graph.rows import DECISION, SOURCE, new_key
from alma_graph.view import Joined, View, may_read

MOST_TRIES = 20
MOST_EVIDENCE = 100


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation that a caller states. Times are in microseconds; `None` is open."""

    source: tuple[str, str]
    type: str
    target: tuple[str, str]
    start: int | None = None
    end: int | None = None
    confidence: float = 1.0
    replaces: bool = False
    properties: Mapping[str, Any] | None = None

    def relation(self, source: int, target: int) -> dict[str, Any]:
        """Returns the relation as a record has it, between entities of that record, by place."""
        said: dict[str, Any] = {"source": source, "target": target, "type": self.type}
        optional = {
            "from": self.start,
            "to": self.end,
            "confidence": None if self.confidence == 1.0 else self.confidence,
            "single": self.replaces or None,
            "properties": dict(self.properties) if self.properties else None,
        }
        return said | {name: value for name, value in optional.items() if value is not None}


def owned(owner: Owner) -> dict[str, str]:
    """Returns the fields of a record that say whose it is."""
    return {name: value for name, value in zip(("agent", "user_id"), owner, strict=True) if value is not None}


def body_of(
    owner: Owner,
    statements: Sequence[Statement],
    *,
    recorded: int,
    memory: str | None = None,
    how: str = "caller",
    by: str | None = None,
) -> dict[str, Any]:
    """Returns the record of some statements, which rest on a memory, or on the word of their owner."""
    places: dict[tuple[str, str], int] = {}
    relations = [
        one.relation(places.setdefault(one.source, len(places)), places.setdefault(one.target, len(places))) for one in statements
    ]
    body = {**owned(owner), "recorded": recorded, "how": how, "entities": [list(one) for one in places], "relations": relations}
    if memory is not None:
        body["references"] = [memory]
    return body if by is None else {**body, "by": by}


def readable_evidence(room: Room, owner: Owner, ids: Iterable[str]) -> list[AnyMemory]:
    """Returns the memories that a statement rests on. `ValidationError` for one that is not there or that its agent may not read."""
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > MOST_EVIDENCE:
        raise ValidationError(f"evidence has {len(wanted)} memories; at most {MOST_EVIDENCE} are taken")
    places = room.project.find(wanted)
    for one in wanted:
        place = places.get(one)
        if place is None or place.is_archived or not may_read(room, owner, (place.partition.agent, place.partition.user_id)):
            raise ValidationError(
                f"evidence names {quoted(one)}, which is no memory that {quoted(owner[0] or owner[1])} may read"
            )
    found = room.project.named(wanted)
    return [found[one] for one in wanted]


def find_or_name(view: View, name: str, entity_type: str | None) -> tuple[str, str]:
    """Returns name and type of the entity that an id or a whole name means to a reader; of a new one where there is none."""
    found = view.only(name, view.exact(name, entity_type))
    if found is None:
        return name, entity_type or THING
    spelling = view.spellings(found)[0]
    return view.rows.spelt[spelling], view.rows.types[spelling]


def start_of_open(view: View, statement: Statement) -> int | None:
    """Returns when the relation began that a statement ends; `None` if none is known that holds then."""
    ends = [view.only(one[0], view.exact(*one)) for one in (statement.source, statement.target)]
    if statement.end is None or ends[0] is None or ends[1] is None:
        return None
    found = [
        one
        for one in view.join(view.edges_of([ends[0]], incoming=False))
        if (one.target, one.type) == (ends[1], statement.type) and one.start < statement.end <= one.end
    ]
    return max((one.start for one in found), default=None)


def store_statement(room: Room, owner: Owner, statement: Statement, evidence: Sequence[AnyMemory]) -> list[str]:
    """Stores a statement in one transaction, with a record for each memory that it rests on, and returns the keys of the records."""
    recorded = room.now()
    bodies = [body_of(owner, [statement], recorded=recorded, memory=one.id) for one in evidence]
    stored = Records(room, SOURCE).put_many(
        [(new_key(), body, 0) for body in bodies or [body_of(owner, [statement], recorded=recorded)]], actor=owner[0] or ""
    )
    return [one.key for one in stored]


def retire(room: Room, owner: Owner, view: View, relation: Joined, now: int) -> int:
    """Marks the statements of a relation as taken back, those of their owner, and returns their number. `ScopeViolationError` if it has none."""
    rows, column = view.rows, view.rows.edges.column
    own = [edge for edge in relation.edges if rows.owners[rows.sources.column("own")[column("record")[edge]]] == owner]
    if not own:
        raise ScopeViolationError(
            "a relation is taken back by those who stated it; none of its statements is of this agent and user"
        )
    places: dict[str, list[int]] = {}
    for edge in own:
        places.setdefault(rows.key_of(int(column("record")[edge])), []).append(int(column("place")[edge]))
    records = Records(room, SOURCE)
    changed = []
    for key, record in records.find(places).items():
        relations = [
            {**one, "retired": now} if place in places[key] and "retired" not in one else one
            for place, one in enumerate(record.body["relations"])
        ]
        changed.append((key, {**record.body, "relations": relations}, record.version))
    records.put_many(changed, actor=owner[0] or "")
    return len(own)


def decide(room: Room, owner: Owner, view: View, pairs: Iterable[tuple[int, int]], *, merged: bool, reason: str) -> None:
    """Stores that pairs of entities are one, or are two. Each rests on the newest memories that name the two, as far as there are some."""
    rows, at, stored = view.rows, room.now(), []
    for entity, other in pairs:
        references = [memory for one in (entity, other) if (memory := _newest_evidence(view, one)) is not None]
        body = {
            **owned(owner), "entity": rows.ids[entity], "other": rows.ids[other], "merged": merged, "reason": reason, "at": at,
            "references": list(dict.fromkeys(references)),
        }  # fmt: skip
        stored.append((new_key(), body, 0))
    Records(room, DECISION).put_many(stored, actor=owner[0] or "")


def _newest_evidence(view: View, entity: int) -> str | None:
    found = (view.rows.evidence_of(int(record)) for record in reversed(view.sources_of(entity)))
    return next((one for one in found if one is not None), None)


def put_again(records: Records, made: Iterable[tuple[str, dict[str, Any]]], *, actor: str = "") -> None:
    """Stores records whatever their version, also while others write."""
    bodies = dict(made)
    for _ in range(MOST_TRIES):
        known = records.find(bodies)
        wanted = [(key, body, known[key].version if key in known else 0) for key, body in bodies.items()]
        try:
            records.put_many(wanted, actor=actor)
            return
        except ConflictError:
            continue
    raise ConflictError(f"the graph was changed by others {MOST_TRIES} times in a row; try again")


def micros(moment: datetime | None) -> int | None:
    """Returns a time in microseconds, `None` for none."""
    return None if moment is None else to_micros(moment)


def time_or_none(value: int) -> int | None:
    """Returns a world time, `None` if it is without end."""
    return None if abs(value) >= FOREVER else value
