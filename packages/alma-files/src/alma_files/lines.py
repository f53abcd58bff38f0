"""Journal records as lines of JSON, and back."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma import journal
from alma.errors import CorruptStoreError
from alma.journal import JournalRecord
from alma.types.identity import from_micros, to_micros

_MARKERS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
MERGED = (
    "Two branches cannot be merged by lines: check out one side whole, export the other side elsewhere (`alma export`), "
    "and add it by `alma import`"
)


@dataclass(frozen=True, slots=True)
class Read:
    """The records of a journal file, how many bytes of it are whole calls, and whether only the end of the last line is missing."""

    records: Sequence[JournalRecord]
    whole: int
    is_unended: bool = False


def line_of(record: JournalRecord, *, ends: int) -> bytes:
    """Returns a record as one line. `ends` is the last record of its call."""
    head = {
        "project": record.project,
        "seq": record.seq,
        "at": from_micros(record.at).isoformat(),
        "actor": record.actor,
        "operation": record.operation,
    }
    tail: dict[str, Any] = {
        "salt": None if record.salt is None else record.salt.hex(),
        "digest": record.digest.hex(),
        "hash": record.hash.hex(),
    }
    if ends != record.seq:
        tail["ends"] = ends
    changes = b"null" if record.payload is None else record.payload
    return _json(head)[:-1] + b', "changes": ' + changes + b", " + _json(tail)[1:] + b"\n"


def read_lines(data: bytes, *, name: str, first_line: int = 1) -> Read:
    """Reads the lines of a journal. What a crash left of the last call is left out; other damage is a `CorruptStoreError` that names the line."""
    *lines, rest = data.split(b"\n")
    is_unended = _is_record(rest, f"{name}, line {first_line + len(lines)}")
    if is_unended:  # an editor may leave the last line without an end
        lines.append(rest)
    records: list[JournalRecord] = []
    whole = at = kept = 0
    for number, line in enumerate(lines, start=first_line):
        record, ends = _record(line, f"{name}, line {number}")
        records.append(record)
        at = min(at + len(line) + 1, len(data))
        if ends <= record.seq:
            whole, kept = at, len(records)
    return Read(records[:kept], whole, is_unended and whole == len(data))


def check_chain(
    records: Sequence[JournalRecord], *, seq: int, head: bytes, name: str, first_line: int
) -> Iterator[JournalRecord]:
    """Yields the records, each after a check that it follows the one before it. `CorruptStoreError` names the line."""
    for number, record in enumerate(records, start=first_line):
        try:
            journal.follow(record, previous=head, seq=seq + 1)
        except journal.BrokenChainError as error:
            raise CorruptStoreError(f"{name}, line {number}: {error}; it was edited, or merged. {MERGED}") from error
        seq, head = record.seq, record.hash
        yield record


def _is_record(rest: bytes, place: str) -> bool:
    """Returns True if what stands behind the last end of a line is a whole record. A marker of a conflict is no rest of a crash."""
    if rest.startswith(_MARKERS):
        raise CorruptStoreError(f"{place} is a conflict of a merge. {MERGED}")
    try:
        return isinstance(json.loads(rest), dict)
    except ValueError:
        return False


def _record(line: bytes, place: str) -> tuple[JournalRecord, int]:
    if line.startswith(_MARKERS):
        raise CorruptStoreError(f"{place} is a conflict of a merge. {MERGED}")
    try:
        found = json.loads(line)
        changes, salt, seq = found["changes"], found["salt"], found["seq"]
        payload = None if changes is None else journal.encode_payload(journal.Change(*change) for change in changes)
        record = JournalRecord(
            found["project"],
            seq,
            to_micros(_time(found["at"])),
            found["actor"],
            found["operation"],
            payload,
            None if salt is None else bytes.fromhex(salt),
            bytes.fromhex(found["digest"]),
            bytes.fromhex(found["hash"]),
        )
        return record, int(found.get("ends", seq))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptStoreError(f"{place} is no journal record: {error}; restore the file, from git say") from error


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
