"""Decides between two versions of one thing, of two clones of a project. Pure: the result is the same whichever side asks, in any order
of several clones, and however often it is asked. Only weights of a kind that three clones define differently depend on the order."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma.errors import ConflictError
from alma.text import quoted
from alma.types.custom import stored_type
from alma.types.exported import ExportedMemory, ExportedRecord, ExportedUsage
from alma.types.identity import to_micros
from alma.types.rules import MOST_ANCHORS

Counts = Mapping[str, float]
COUNTED = tuple(ExportedUsage.model_fields)


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as one side has it. `reason` is that for which it is in quarantine."""

    line: ExportedMemory
    reason: str | None = None


def merged_memory(mine: Version, theirs: Version) -> tuple[ExportedMemory, Version]:
    """Returns the memory as both sides know it, with my usage, and the version by which it is archived or in use.

    The words are those that were changed last. It is archived or in use as that was decided last. `ConflictError` if an id stands for two
    things.
    """
    _check_same(mine.line, theirs.line)
    said = max(mine.line, theirs.line, key=_words)
    kept = max(mine, theirs, key=_standing)
    return said.model_copy(update={"archived_at": kept.line.archived_at, "usage": mine.line.usage}), kept


def merged_record(mine: ExportedRecord, theirs: ExportedRecord) -> ExportedRecord:
    """Returns the small record that was changed last."""
    return max(mine, theirs, key=_record_order)


def merged_rule(mine: ExportedRecord, theirs: ExportedRecord) -> ExportedRecord:
    """Returns the record of a rule as both sides know it, with my usage: it rests on the first outcomes of both, has the words that were
    changed last, and stays archived once a caller archived it on either side."""
    kept = merged_record(mine, theirs)
    anchors = sorted({*mine.body["anchors"], *theirs.body["anchors"]})[:MOST_ANCHORS]  # ids rise with time
    archived = [at for at in (mine.body.get("archived_at"), theirs.body.get("archived_at")) if at is not None]
    body = {**kept.body, "anchors": anchors, "archived_at": min(archived, default=None), "use": mine.body.get("use")}
    return kept.model_copy(update={"body": {name: value for name, value in body.items() if value is not None}})


def merged_definition(mine: ExportedRecord, theirs: ExportedRecord) -> ExportedRecord:
    """Returns the definition of a kind that fits memories of both sides. `ConflictError` if there is none."""
    older, newer = sorted((mine, theirs), key=_record_order)
    body = stored_type(older.body).merged(stored_type(newer.body)).model_dump(mode="json")
    return newer.model_copy(update={"body": body, "version": max(older.version, newer.version)})


def merged_usage(sides: list[tuple[ExportedUsage | None, Counts]], of_both: Counts) -> ExportedUsage | None:
    """Returns the usage as both sides know it: what the episodes of both count, and beside it the larger of what each side counted
    otherwise. A side is its usage with the part that its own episodes count."""
    if not of_both and not any(usage for usage, _ in sides):
        return None
    totals = {}
    for name in COUNTED:
        otherwise = max((getattr(usage, name) if usage else 0) - own.get(name, 0) for usage, own in sides)
        totals[name] = max(0, otherwise + of_both.get(name, 0))
    return ExportedUsage.model_validate(totals)


def _check_same(mine: ExportedMemory, theirs: ExportedMemory) -> None:
    names = ("kind", "agent", "created_at")
    ours, other = ([*(getattr(line, name) for name in names), line.body.get("user_id")] for line in (mine, theirs))
    if ours != other:
        raise ConflictError(f"memory {quoted(mine.id)} is another one in the file; nothing was stored")


def _words(line: ExportedMemory) -> tuple[datetime, str]:
    """The order of what a memory says: by time, then by a digest, so that no two versions are equal."""
    return line.updated_at, digest_of(line, without=("archived_at", "usage"))


def _standing(version: Version) -> tuple[datetime, bool, datetime, str]:
    """The order of decisions to archive a memory, or to use it: by time; of two of the same time it is archived."""
    line = version.line
    latest = max(line.updated_at, line.archived_at or line.updated_at)
    return latest, line.archived_at is not None, line.archived_at or latest, version.reason or ""


def _record_order(record: ExportedRecord) -> tuple[int, int, str]:
    return to_micros(record.updated_at), record.version, _digest(record.body)


def digest_of(line: ExportedMemory, *, without: tuple[str, ...] = ()) -> str:
    """Returns a digest of a memory, vectors apart."""
    return _digest(line.model_dump(mode="json", exclude={**dict.fromkeys(without, True), "passages": {"__all__": {"vector"}}}))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
