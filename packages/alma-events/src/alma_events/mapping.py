"""From a journal record to its events: a pure function, and a table of the journal's operations."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from alma.protocols import Entry
from alma.types.episodes import END, EPISODE
from alma.types.identity import agent_in, user_in
from alma.types.kinds import MemoryType
from alma.types.package_records import is_of_package
from alma.types.stored import QUARANTINE, Change
from alma.types.strategies import FAILS, RULE
from alma_events.types import MemoryEventType as Type

CHECKPOINT = "workflow.checkpoint"
LAST = 1 << 52
"""Index of an event that follows all others of its record."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The agent and the user that a memory or a record belongs to, and its kind. An event of neither is for readers of everything."""

    agent: str | None = None
    user_id: str | None = None
    kind: str | None = None


NOBODY = Owner()


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before it is known who reads it.

    `listed` are lists of the payload whose items have owners of their own: a reader gets those that it may read. `secret` is added to the
    payload for readers of everything. `is_for_all` marks an event that each reader of the project gets, `leads` one that a reader gets
    who gets another event of the record.
    """

    type: Type
    index: int
    owner: Owner = NOBODY
    memory_id: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    listed: Mapping[str, Sequence[tuple[str, Any]]] = field(default_factory=dict)
    secret: Mapping[str, Any] = field(default_factory=dict)
    is_for_all: bool = False
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Meaning:
    """The events that records of an operation are.

    `makes_one` is True where a record makes one memory at most, whose events then have the first indexes, and `always` where it makes exactly
    one. `made` is the event of a row that is made, `changed` that of one that changes, `reason` that of a memory that leaves
    the searches, `counts` the event of usage counts, `ended` that of an ending of an episode.
    """

    makes_one: bool = False
    always: bool = False
    made: Type = Type.CREATED
    changed: Type = Type.UPDATED
    reason: str = "archived"
    counts: Type | None = None
    ended: Type | None = None
    origin: str | None = None
    is_silent: bool = False


SEVERAL = Meaning()
ONE = Meaning(makes_one=True, always=True)
SILENT = Meaning(is_silent=True)
UNDO, PURGE, IMPORT = "undo", "purge", "import"

OPERATIONS: Mapping[str, Meaning] = {
    **dict.fromkeys(("learn", "add_user_preference", "add_domain_knowledge", "add_anti_pattern", "add_heuristic"), ONE),
    "episode_step": Meaning(makes_one=True),
    **dict.fromkeys(
        ("learn_many", "add", "add_many", "add_conversation", "episode_begin", "edit", "release_quarantined", "reflect"), SEVERAL
    ),
    "episode_end": Meaning(makes_one=True, ended=Type.EPISODE_ENDED),
    "episode_abandon": Meaning(ended=Type.EPISODE_ENDED),
    "episode_suspend": SEVERAL,  # it may hold the beginning
    "settle": Meaning(ended=Type.OUTCOME_SETTLED),
    "record_usage": Meaning(counts=Type.USAGE_RECORDED),
    "record_feedback": Meaning(counts=Type.FEEDBACK_RECORDED),
    "forget": SEVERAL,
    "maintain": Meaning(reason="policy"),
    "consolidate": Meaning(changed=Type.CONSOLIDATED, reason="merged"),
    UNDO: Meaning(made=Type.RESTORED, reason="undone"),
    PURGE: Meaning(made=Type.UPDATED),  # rows that a redaction stores anew
    IMPORT: Meaning(origin="import", reason="import"),
    **dict.fromkeys(
        ("episode_resume", "register_memory_type", "purge_rules", "compose_names", "compress", "upgrade", "rebuild"), SILENT
    ),
}
"""Every operation of the core. Packages write records of their own kinds, whose name is the operation: see `meaning_of`."""

_LANES = {
    **dict.fromkeys((Type.CREATED, Type.USAGE_RECORDED, Type.FEEDBACK_RECORDED), 0),
    **dict.fromkeys((Type.PREFERENCE_ADDED, Type.KNOWLEDGE_ADDED), 1),
    **dict.fromkeys((Type.QUARANTINED, Type.RELEASED), 2),
    **dict.fromkeys((Type.UPDATED, Type.CONSOLIDATED), 3),
    **dict.fromkeys((Type.DELETED, Type.RESTORED, Type.EPISODE_STARTED), 4),
    **dict.fromkeys((Type.EPISODE_ENDED, Type.OUTCOME_SETTLED, Type.WORKFLOW_CHECKPOINT), 5),
}
"""The last digit, to base 8, of an index: no two events of one memory in one record have the same."""

_ALSO = {MemoryType.USER_PREFERENCE: Type.PREFERENCE_ADDED, MemoryType.DOMAIN_KNOWLEDGE: Type.KNOWLEDGE_ADDED}
_NO_CHANGE = frozenset({"updated_at", "content_hash", "evidence", "version"})

FindOwners = Callable[[Collection[str]], Mapping[str, Owner]]
"""Returns the owners of memories, and of episodes by "episode/" and their id, as far as they are known."""


def meaning_of(operation: str) -> Meaning:
    """Returns the meaning of an operation. Records of packages are silent but for checkpoints; an operation of a newer version is read by its
    rows."""
    if operation == CHECKPOINT:
        return SEVERAL
    return SILENT if is_of_package(operation) else OPERATIONS.get(operation, SEVERAL)


def index_of(key: str, lane: int) -> int:
    """Returns the index of an event by its subject: the same however much of its record is purged."""
    return 8 + (int.from_bytes(sha256(key.encode()).digest()[:5], "big") << 3) + lane


def drafts(entry: Entry, find: FindOwners) -> list[Draft]:
    """Returns the events of a journal record by index."""
    meaning = meaning_of(entry.operation)
    if meaning.is_silent:
        return []
    made = [*_of_memories(entry, meaning, find), *_of_records(entry, meaning, find), *_of_record(entry, meaning, find)]
    if entry.operation == UNDO:
        cause = f"{entry.seq}.0"
        made = [replace(each, payload={**each.payload, "caused_by": cause}) for each in made]
        made.append(Draft(Type.JOURNAL_UNDONE, 0, leads=True))
    return sorted(made, key=lambda each: each.index)


def _of_memories(entry: Entry, meaning: Meaning, find: FindOwners) -> Iterator[Draft]:
    """Yields the events of memories whose rows, or passages alone, changed."""
    rows = {change.key: change for change in entry.changes if change.table == "memory"}
    owners = _owners({**rows, **dict.fromkeys(_reworded_memories(entry, rows))}, find)
    doubts = {change.key.partition("/")[2]: change for change in entry.changes if change.key.startswith(f"{QUARANTINE}/")}
    for key, change in rows.items():
        owner, is_one = owners.get(key, NOBODY), meaning.makes_one and change.before is None
        for kind, payload in _events_of(change, doubts.get(key), meaning, owner):
            lane = _LANES[kind]
            said = {**payload, "origin": meaning.origin} if meaning.origin else payload
            yield Draft(kind, lane if is_one else index_of(key, lane), owner, key, said)
    for key in owners.keys() - rows.keys():
        index = index_of(key, _LANES[Type.UPDATED])
        yield Draft(Type.UPDATED, index, owners[key], key, {"changed": ["passages"]})


def _reworded_memories(entry: Entry, rows: Collection[str]) -> set[str]:
    """Returns the memories whose passages changed, and not their rows."""
    passages = ((change.key.rpartition("/")[0], change) for change in entry.changes if change.table == "passage")
    return {key for key, change in passages if key not in rows and _changed_names(change) - {"is_live"}}


def _owners(changes: Mapping[str, Change | None], find: FindOwners) -> dict[str, Owner]:
    """Returns the owners of changed memories: from their rows where these are whole."""
    whole = {key: row for key, change in changes.items() if change and "owner" in (row := change.after or change.before or {})}
    known = {key: owner_of(row) for key, row in whole.items()}
    missing = changes.keys() - known.keys()
    return {**known, **(find(missing) if missing else {})}


def owner_of(row: Mapping[str, Any]) -> Owner:
    """Returns the owner of a memory's whole row."""
    if row["is_user"]:
        return Owner(None, row["owner"], row["kind"])
    return Owner(agent_in(row["owner"]), user_in(row["owner"]), row["kind"])


def _events_of(change: Change, doubt: Change | None, meaning: Meaning, owner: Owner) -> Iterator[tuple[Type, dict[str, Any]]]:
    """Yields types and payloads of the events of one memory's row."""
    before, after = change.before, change.after
    if after is None:
        yield Type.DELETED, {"reason": meaning.reason}
    elif before is None:
        yield meaning.made, _numbers(after) if meaning.made is Type.CREATED else _describe_new_row(meaning.made)
        if meaning.made is Type.CREATED and owner.kind in _ALSO:
            yield _ALSO[MemoryType(owner.kind)], {}
        if doubt is not None and doubt.before is None and after.get("archived_at") is not None:
            yield Type.QUARANTINED, {}
    else:
        yield from _of_change(change, before, after, doubt, meaning)


def _of_change(
    change: Change, before: Mapping[str, Any], after: Mapping[str, Any], doubt: Change | None, meaning: Meaning
) -> Iterator[tuple[Type, dict[str, Any]]]:
    changed = _changed_names(change) - _NO_CHANGE
    if "archived_at" in changed:
        is_gone, is_back = before.get("archived_at") is None, after.get("archived_at") is None
        if is_gone:
            is_doubted = doubt is not None and doubt.before is None
            yield (Type.QUARANTINED, {}) if is_doubted else (Type.DELETED, {"reason": meaning.reason})
        elif is_back:
            yield Type.RELEASED if doubt is not None and doubt.after is None else Type.RESTORED, {}
    is_merged = (
        meaning.changed is Type.CONSOLIDATED and "archived_at" in changed
    )  # the note of what it became is no event of its own
    if (named := sorted(changed - {"archived_at"})) and not is_merged:
        yield meaning.changed, {"changed": named}


def _describe_new_row(kind: Type) -> dict[str, Any]:
    return {"changed": ["text"], "reason": "redacted"} if kind is Type.UPDATED else {}


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the numbers and fixed words of a new memory, for a thin event."""
    body = row.get("body", {})
    said = {"confidence": row.get("confidence"), "trials": row.get("trials"), "successes": row.get("successes")}
    said |= {"outcome": body.get("outcome")} if row.get("kind") == MemoryType.OUTCOME else {}
    said |= {"archived": True} if row.get("archived_at") is not None else {}
    episode = body.get("metadata", {}).get("episode_id")
    said |= {"episode_id": episode} if isinstance(episode, str) else {}
    return {name: value for name, value in said.items() if value is not None}


def _changed_names(change: Change) -> set[str]:
    """Returns the names of the columns, and of the fields of the body, that differ."""
    before, after = _fields(change.before), _fields(change.after)
    return {name for name in {**before, **after} if before.get(name) != after.get(name)}


def _fields(row: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**{name: value for name, value in (row or {}).items() if name != "body"}, **((row or {}).get("body") or {})}


def _of_records(entry: Entry, meaning: Meaning, find: FindOwners) -> Iterator[Draft]:
    """Yields the events of small records: episodes, rules that a caller archived, checkpoints."""
    for change in entry.changes:
        if change.table == "record":
            kind, _, key = change.key.partition("/")
            if kind == RULE:
                yield from _of_rule(key, change, meaning)
            elif change.after is not None and entry.operation not in (UNDO, IMPORT, PURGE):
                yield from _of_small_record(kind, key, change, meaning, find)


def _of_small_record(kind: str, key: str, change: Change, meaning: Meaning, find: FindOwners) -> Iterator[Draft]:
    body = _body(change.after)
    if kind == EPISODE and change.before is None:
        yield Draft(Type.EPISODE_STARTED, _single(meaning, key, Type.EPISODE_STARTED), _owner_in(body), None, {"episode_id": key})
    elif kind == END and meaning.ended is not None:
        owner = find([f"{EPISODE}/{key}"]).get(f"{EPISODE}/{key}", NOBODY)
        said = {"episode_id": key, "outcome": body.get("outcome"), "status": body.get("status")}
        used = [(one, one) for one in body.get("used") or ()]
        index = _single(meaning, key, meaning.ended)
        yield Draft(meaning.ended, index, owner, body.get("outcome_id"), said, {"used": used})
    elif kind == CHECKPOINT and "workflow_id" in body:  # not the note of the newest one
        said = {"workflow_id": body["workflow_id"]}
        yield Draft(Type.WORKFLOW_CHECKPOINT, index_of(key, _LANES[Type.WORKFLOW_CHECKPOINT]), _owner_in(body), None, said)


def _single(meaning: Meaning, key: str, kind: Type) -> int:
    """Returns the index of an event of an episode: a short one where a record has one episode."""
    return _LANES[kind] if meaning.makes_one else index_of(key, _LANES[kind])


def _of_rule(key: str, change: Change, meaning: Meaning) -> Iterator[Draft]:
    """Yields the event of a learned rule that a caller archived, or whose archiving was undone."""
    before, after = _body(change.before), _body(change.after)
    was, now = before.get("archived_at"), after.get("archived_at")
    if (was is None) is not (now is None):
        kind = Type.RESTORED if now is None else Type.DELETED
        payload = {} if now is None else {"reason": meaning.reason}
        yield Draft(kind, index_of(key, _LANES[kind]), _owner_of_rule(after or before), key, payload)


def _owner_of_rule(body: Mapping[str, Any]) -> Owner:
    kind = MemoryType.ANTI_PATTERN if body.get("side") == FAILS else MemoryType.HEURISTIC
    owner = str(body.get("owner", ""))
    return Owner(agent_in(owner) or None, user_in(owner), kind.value)


def _of_record(entry: Entry, meaning: Meaning, find: FindOwners) -> Iterator[Draft]:
    """Yields the events that a record has as a whole."""
    if meaning.counts is not None and (counted := dict(_count_added(entry.changes))):
        yield _of_counts(entry, meaning.counts, counted, find)
    if entry.operation == PURGE:
        said = [change.after for change in entry.changes if change.table == PURGE and "digests" in (change.after or {})]
        if said:
            yield Draft(Type.PURGED, 0, secret={"tombstones": said}, is_for_all=True)
    if entry.operation == IMPORT:
        yield Draft(Type.IMPORT_COMPLETED, LAST, payload={"memories": len(_new_rows(entry.changes)), "origin": IMPORT})
    if entry.is_purged and meaning.always and not _new_rows(entry.changes):
        yield Draft(Type.CREATED, 0, payload={"purged": True})


def _new_rows(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.table == "memory" and change.before is None]


def _of_counts(entry: Entry, kind: Type, counted: Mapping[str, Mapping[str, float]], find: FindOwners) -> Draft:
    """Returns the one event of a record that counts the use of memories, each of which a reader sees if it may read it."""
    only = next(iter(counted)) if kind is Type.FEEDBACK_RECORDED else None
    owner = Owner(entry.actor or None) if only is None else find([only]).get(only, Owner(entry.actor or None))
    memories = [(key, {"id": key, **counts}) for key, counts in counted.items()]
    return Draft(kind, 0, owner, only, {}, {"memories": memories})


def _count_added(changes: Iterable[Change]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yields ids of memories and of learned rules with the numbers that were added to their counts."""
    for change in changes:
        before, after = change.before or {}, change.after or {}
        key = change.key
        if change.table == "record" and key.startswith(f"{RULE}/"):
            before, after, key = _body(before).get("use", {}), _body(after).get("use", {}), key.partition("/")[2]
        elif change.table != "usage":
            continue
        added = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after} if name != "memory"}
        yield key, {name: count for name, count in sorted(added.items()) if count}


def _body(row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    body: Mapping[str, Any] = (row or {}).get("body") or {}
    return body


def _owner_in(body: Mapping[str, Any]) -> Owner:
    """Returns the owner of a small record."""
    return Owner(body.get("agent") or None, body.get("user_id") or None)
