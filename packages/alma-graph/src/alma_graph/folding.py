"""Reads memories for entities: what was written since is read when the graph is next asked, so that `learn` costs nothing more.

Each memory has one record of what it says. It is made anew when its text changes, and it is not made twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from alma.errors import ValidationError
from alma.memory.package_records import Records
from alma.memory.room import Room
from alma.types.identity import to_micros
from alma.types.memories import AnyMemory, Conversation, Outcome, UserPreference
from alma.types.provenance import FLAGGED
from alma_graph.configured import MODEL, RULES, GraphSettings, load_extractor
from alma_graph.extraction.extractor import Extracted, KnownNames, extract_by_rules
from alma_graph.naming import LONGEST_NAME, USER, VALUE, plain_type
from alma_graph.records import Owner
from alma_graph.relating import owned, put_again
from alma_graph.rows import SOURCE, key_of
from alma_graph.self_models import VALUE_OF
from alma_graph.view import View

if TYPE_CHECKING:
    from alma import ALMA

POSITION = "position"
"""Key of the record that says up to which journal record of which store memories were read."""

PORTION = 200
MOST_LAG = 1_000
"""Journal records after which the position is stored, though nothing was found in them."""
MOST_WORDS = 4
"""Words of a known name that is looked for."""
LONGEST_TEXT = 100_000
"""Characters of a memory that are read."""

Item = TypeVar("Item")
Extract = Callable[[str, KnownNames, str | None], Extracted]
ViewOf = Callable[[Owner], View]


def fold(alma: "ALMA", room: Room, settings: GraphSettings, view_of: ViewOf, *, since: int) -> int:
    """Reads the memories that were added or changed after journal record `since`, or since the stored position where that is newer, and returns how
    many have a new record. -1 is the beginning."""
    records, head = Records(room, SOURCE), room.project.head()
    stored = records.get(POSITION)
    position = int(stored.body["seq"]) if stored is not None and stored.body["store"] == room.store.storage.id else -1
    start = max(since, min(position, head))
    if start == head:
        return 0
    changed = _all_memories(room) if start < 0 else _changed_memories(room, start)
    extract, count = _extractor(alma, settings), 0
    for portion in batched(changed, PORTION):
        made = _read(room, records, portion, extract, view_of)
        try:
            put_again(records, made.items())
        except ValidationError:  # one of the memories was purged meanwhile
            there = room.project.find(portion)
            put_again(records, [(key, body) for key, body in made.items() if set(body["references"]) <= there.keys()])
        count += len(made)
    if count or head - position > MOST_LAG:
        put_again(records, [(POSITION, {"store": room.store.storage.id, "seq": head})])
    return count


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yields items in lists of at most `size`."""
    left = iter(items)
    while portion := list(islice(left, size)):
        yield portion


def _all_memories(room: Room) -> Iterator[str]:
    """Yields the ids of all memories that are not archived."""
    project = room.project
    for rows in batched(project.within(list(project.partitions())), PORTION):
        yield from (memory.id for memory in project.memories(list(rows)).values())


def _changed_memories(room: Room, start: int) -> Iterable[str]:
    entries = room.project.entries(after=start)
    return dict.fromkeys(change.key for entry in entries for change in entry.changes if change.table == "memory" and change.after)


def _read(room: Room, records: Records, ids: Sequence[str], extract: Extract, view_of: ViewOf) -> dict[str, dict[str, Any]]:
    """Returns the records of those memories of which none is stored that says the same."""
    places, memories = room.project.find(ids), room.project.named(ids)
    known, made = records.find([key_of(one) for one in memories]), dict[str, dict[str, Any]]()
    for memory_id, memory in memories.items():
        if places[memory_id].is_archived:
            continue
        owner = (places[memory_id].partition.agent, places[memory_id].partition.user_id)
        body = _body(memory, owner, _say(memory, extract, _known_to(view_of(owner))), room.now())
        before = known.get(key_of(memory_id))
        if before is None or any(before.body[name] != body[name] for name in ("entities", "relations")):
            made[key_of(memory_id)] = body
    return made


def _known_to(view: View) -> KnownNames:
    """Returns the names that a reader may know, but for phrases in small letters."""
    rows = view.rows

    def find(name: str) -> tuple[str, str] | None:
        found = view.exact(name)
        if len(found) != 1:
            return None
        spelling = view.spellings(found[0])[0]
        text, entity_type = rows.spelt[spelling], rows.types[spelling]
        return (
            None
            if entity_type == VALUE or (text.islower() and text.isalpha()) or (" " in text and text.islower())
            else (text, entity_type)
        )

    return KnownNames(find, MOST_WORDS)


def _say(memory: AnyMemory, extract: Extract, known: KnownNames) -> list[Extracted]:
    """Returns the entities and relations of a memory's texts; nothing of a suspicious one, which may be made to give orders."""
    if isinstance(memory, UserPreference) or memory.metadata.get(FLAGGED):
        return []
    if isinstance(memory, Conversation):
        names = memory.names
        return [
            extract(turn.text[:LONGEST_TEXT], known, (turn.speaker if turn.speaker in names else USER) if turn.is_own else None)
            for turn in memory.turns
            if turn.text.strip()
        ]
    parts = (
        (memory.task_description, memory.strategy_used, memory.user_feedback) if isinstance(memory, Outcome) else (memory.text,)
    )
    return [extract(one[:LONGEST_TEXT], known, None) for one in parts if one and one.strip()]


def _body(memory: AnyMemory, owner: Owner, said: Iterable[Extracted], recorded: int) -> dict[str, Any]:
    """Returns the record of a memory. The user that a text speaks of is the one it was recorded for."""
    places: dict[tuple[str, str], int] = {}
    relations, at, user = list[dict[str, Any]](), to_micros(memory.seen_at), owner[1]

    def place(name: str, entity_type: str) -> int:
        is_user = entity_type == USER and user is not None
        return places.setdefault((str(user), USER) if is_user else (name[:LONGEST_NAME], plain_type(entity_type)), len(places))

    if isinstance(memory, Conversation):
        for name in sorted(memory.names):
            place(name, "person")
    if isinstance(memory, UserPreference):
        value = str(memory.metadata.get(VALUE_OF) or memory.preference)
        ends = place(str(user), USER), place(value, VALUE)
        relations.append({"source": ends[0], "target": ends[1], "type": "prefers", "from": at})
    for entities, relationships in said:
        numbers = {one.id: place(one.name, one.entity_type) for one in entities}
        for each in relationships:
            if each.source_id in numbers and each.target_id in numbers:
                found: dict[str, Any] = {"source": numbers[each.source_id], "target": numbers[each.target_id]}
                found |= {"type": plain_type(each.relation_type)}
                found |= {"from": at if each.valid_from is None else to_micros(each.valid_from)}
                if each.confidence != 1.0:
                    found["confidence"] = each.confidence
                relations.append(found)
    how = {"how": "memory", "references": [memory.id]}
    return {**owned(owner), **how, "recorded": recorded, "entities": [list(one) for one in places], "relations": relations}


def _extractor(alma: "ALMA", settings: GraphSettings) -> Extract:
    if settings.extractor == RULES:
        return lambda text, known, speaker: extract_by_rules(text, known, speaker=speaker)
    if settings.extractor == MODEL:
        return _by_model(alma)
    provided = load_extractor(settings.extractor)

    def extract(text: str, known: KnownNames, speaker: str | None) -> Extracted:
        entities, relationships = provided.extract(text, None)
        return list(entities), list(relationships)

    return extract


def _by_model(alma: "ALMA") -> Extract:
    """Returns extraction by the model of the block `llm:`, and by rules where it fails or none is configured."""
    from alma_graph.extraction.model import extract_by_model
    from alma_knowledge.llm.configured import open_llm

    model = open_llm(alma)

    def extract(text: str, known: KnownNames, speaker: str | None) -> Extracted:
        found = None if model is None else extract_by_model(model, text)
        return extract_by_rules(text, known, speaker=speaker) if found is None else found

    return extract
