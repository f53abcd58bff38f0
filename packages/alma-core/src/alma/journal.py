"""The journal as pure functions: records, their hash chain, and replay.

`hash = SHA-256(previous ‖ header ‖ digest)` with `digest = SHA-256(salt ‖ payload)`. The header has the project, `seq`, time, actor and
operation. A record whose payload and salt were purged keeps its digest, so the chain still verifies while its content cannot be guessed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from alma.types.kinds import MemoryType
from alma.types.stored import OF_THIS_STORE, RowValues
from alma.types.stored import Change as Change
from alma.types.strategies import RULE, WAY_NAME

GENESIS = bytes(32)
"""Stands for the hash of a predecessor in the first record of a project."""

SALT_BYTES = 16

_CANONICAL = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"), allow_nan=False)

State = dict[tuple[str, str], dict[str, Any]]
"""Rows by table and key."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One call. `payload` and `salt` are `None` once purged. `at` is in microseconds since 1970."""

    project: str
    seq: int
    at: int
    actor: str
    operation: str
    payload: bytes | None
    salt: bytes | None
    digest: bytes
    hash: bytes


class BrokenChainError(Exception):
    """Raised for a record that does not follow from the one before it, or does not match its own digest."""


class ReplayError(Exception):
    """Raised for a change that does not fit the rows left by the changes before it."""


def encode_payload(changes: Iterable[Change]) -> bytes:
    """Returns the changes as canonical JSON in UTF-8: sorted keys, shortest floats. `ValueError` for NaN and infinities."""
    return _canonical([[change.table, change.key, change.before, change.after] for change in changes])


def decode_payload(payload: bytes) -> list[Change]:
    """Returns the changes that `encode_payload` was given."""
    return [Change(*item) for item in json.loads(payload)]


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """Returns the digest that a record keeps when its payload is purged."""
    return hashlib.sha256(salt + payload).digest()


def record_hash(previous: bytes, *, project: str, seq: int, at: int, actor: str, operation: str, digest: bytes) -> bytes:
    """Returns the hash that chains a record to its predecessor."""
    header = _canonical([project, seq, at, actor, operation])
    return hashlib.sha256(previous + header + digest).digest()


def follow(record: JournalRecord, *, previous: bytes, seq: int) -> None:
    """Checks that a record is number `seq` and follows `previous`. `BrokenChainError` states what is wrong."""
    if record.seq != seq:
        raise BrokenChainError(f"record {seq} is missing; the next one is {record.seq}")
    if record.payload is not None and (record.salt is None or payload_digest(record.salt, record.payload) != record.digest):
        raise BrokenChainError(f"the payload of record {seq} was changed")
    expected = record_hash(
        previous,
        project=record.project,
        seq=record.seq,
        at=record.at,
        actor=record.actor,
        operation=record.operation,
        digest=record.digest,
    )
    if expected != record.hash:
        raise BrokenChainError(f"record {seq} does not follow from the record before it")


def replay(changes: Iterable[Change], state: State) -> None:
    """Applies changes to rows in place. `ReplayError` if one does not fit."""
    for change in changes:
        place = (change.table, change.key)
        row = state.get(place)
        if change.before is None:
            if row is not None or change.after is None:
                raise ReplayError(f"{change.table} {change.key} is made twice")
            state[place] = dict(change.after)
        elif row is None or any(row.get(column) != value for column, value in change.before.items()):
            raise ReplayError(f"{change.table} {change.key} is not what the change expects")
        elif change.after is None:
            del state[place]
        else:
            row.update(change.after)


def reversed_changes(changes: Iterable[Change]) -> Iterator[Change]:
    """Yields the changes that reverse the given ones, last first."""
    for change in reversed(list(changes)):
        yield Change(change.table, change.key, change.after, change.before)


def net(changes: Iterable[Change]) -> list[Change]:
    """Merges changes into one per row with the same effect, in the order in which rows were first touched. A row that ends as it began
    has none."""
    merged: dict[tuple[str, str], Change] = {}
    for change in changes:
        place = (change.table, change.key)
        merged[place] = _joined(merged[place], change) if place in merged else change
    return [change for change in map(_without_unchanged, merged.values()) if change is not None]


def _joined(first: Change, second: Change) -> Change:
    before = first.before
    if before is not None:
        before = {**(second.before or {}), **before}
    after = second.after
    if after is not None and second.before is not None:
        after = {**(first.after or {}), **after}
    return Change(first.table, first.key, before, after)


def _without_unchanged(change: Change) -> Change | None:
    """Returns the change without the columns that end as they began; `None` if none is left."""
    before, after = change.before, change.after
    if before is None or after is None:
        return None if before is after else change
    columns = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not columns:
        return None
    return Change(change.table, change.key, {n: before.get(n) for n in columns}, {n: after.get(n) for n in columns})


LocatedRow = tuple[str, str, RowValues]
"""A row with its table and key."""

_OF_THIS_STORE = tuple(f"{kind}/" for kind in OF_THIS_STORE)
_RULE_KEYS = f"{RULE}/", f"{WAY_NAME}/"


def content_hash(rows: Iterable[LocatedRow]) -> str:
    """Returns a hash of a project's content as 64 hexadecimal digits.

    What an export leaves out is not part of it: small records that concern this store only.
    Nor are vectors, row numbers and the order in which rows were made.
    """
    return rows_hash(one for one in rows if one[0] != "record" or not one[1].startswith(_OF_THIS_STORE))


def rows_hash(rows: Iterable[LocatedRow]) -> str:
    """Returns a hash of rows as 64 hexadecimal digits: SHA-256 over the SHA-256 of each row, table and key included, in ascending order."""
    digests = sorted(hashlib.sha256(_canonical([table, key, row])).digest() for table, key, row in rows)
    return hashlib.sha256(b"".join(digests)).hexdigest()


OF_MEMORIES = ("memory", "passage", "usage")
"""Tables whose rows belong to a memory."""

PURGE = "purge"
"""Table name of changes that describe what a purge erased; it has no rows. See `redacted`."""


UPGRADED = "upgrade"
"""Operation of the record by which learned rules of a former version, which were rows, became small records."""

REBUILD = "rebuild"
"""Operation of a record that was written when rows were rebuilt from the journal. It changes no row."""


RETIRED_TABLE, RETIRED_COLUMN = "evidence", "evidence"
"""A table, and a column of memories, that records of former versions changed: counts that follow from outcomes."""


def current(changes: Iterable[Change]) -> Iterator[Change]:
    """Yields changes without those of retired tables and columns."""
    for change in changes:
        if change.table == "memory" and any(RETIRED_COLUMN in row for row in (change.before, change.after) if row):
            change = Change(change.table, change.key, *map(_without_retired, (change.before, change.after)))  # noqa: PLW2901
            if not change.before and not change.after:
                continue
        if change.table != RETIRED_TABLE:
            yield change


def _without_retired(row: RowValues | None) -> RowValues | None:
    return None if row is None else {name: value for name, value in row.items() if name != RETIRED_COLUMN}


def changes_learning(operation: str, changes: Iterable[Change]) -> bool:
    """Returns True when a record may change what is learned, or by which row numbers it is read."""
    return operation == REBUILD or any(map(_changes_learning, changes))


def _changes_learning(change: Change) -> bool:
    """A partial change of a memory does not state its kind, so it counts."""
    if change.table == "memory":
        kinds = {row["kind"] for row in (change.before, change.after) if row and "kind" in row}
        return not kinds or MemoryType.OUTCOME in kinds
    return change.table == PURGE or (change.table == "record" and change.key.startswith(_RULE_KEYS))


def entity(table: str, key: str) -> str:
    """Returns what a row belongs to: the id of its memory, where it belongs to one, else table and key; one constant for all purged
    content."""
    if table == PURGE:
        return PURGE
    if table == "passage":
        return key.rpartition("/")[0]
    return key if table in OF_MEMORIES else f"{table}/{key}"


def redacted(changes: Iterable[Change]) -> dict[int, list[Change]]:
    """Returns what a purge record keeps of each record that it erased, by `seq`: the changes of rows that were not purged."""
    return {
        int(change.key): [Change(*item) for item in (change.after or {})["changes"]]
        for change in changes
        if change.table == PURGE and change.key.isdecimal()
    }


def redaction(seq: int, changes: Iterable[Change]) -> Change:
    """Returns what a purge record keeps of record `seq`, whose payload it erases."""
    kept = [[change.table, change.key, change.before, change.after] for change in changes]
    return Change(PURGE, str(seq), None, {"changes": kept})


def tombstones(keys: Iterable[str], salt: bytes) -> Change:
    """Returns what a purge record keeps of the keys that it erased. It can be checked whether a given key was purged, but the keys cannot
    be listed."""
    return Change(PURGE, "tombstones", None, {"salt": salt.hex(), "digests": [tombstone(key, salt) for key in keys]})


def passages_removed(count: int) -> Change:
    """Returns what a purge record keeps of the passages that it erased: their number."""
    return Change(PURGE, "passages", None, {"count": count})


def removed_passages(changes: Iterable[Change]) -> int | None:
    """Returns the number of passages that a purge record erased; `None` for changes of any other record."""
    counts = (change for change in changes if change.table == PURGE and change.key.startswith("passages"))
    return next((change.after["count"] for change in counts if change.after is not None), None)


def entombed(key: str, changes: Iterable[Change]) -> bool:
    """Returns True when these changes of a purge record contain the key as purged."""
    return any(tombstone(key, bytes.fromhex(after["salt"])) in after["digests"] for after in stated_tombstones(changes))


def stated_tombstones(changes: Iterable[Change]) -> Iterator[RowValues]:
    """Yields the salt and the digests of the keys that these changes contain as purged."""
    for change in changes:
        if change.table == PURGE and change.key.startswith("tombstones") and change.after is not None:
            yield change.after


def tombstone(key: str, salt: bytes) -> str:
    """Returns the digest that replaces a purged key."""
    return hashlib.sha256(salt + key.encode()).hexdigest()


def _canonical(value: Any) -> bytes:
    return _CANONICAL.encode(value).encode()
