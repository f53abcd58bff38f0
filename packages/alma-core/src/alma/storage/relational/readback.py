"""The journal read back: records with what they changed, also where a purge erased a payload and kept the rest of it elsewhere."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from alma import journal
from alma.errors import CorruptStoreError
from alma.journal import Change, JournalRecord
from alma.protocols import Entry
from alma.storage.relational.hidden_keys import hide_touched, reveal_operation
from alma.storage.relational.logical import View

Redactions = dict[int, list[Change]]
"""The changes that are left of erased records, by `seq`."""


def record_from(values: Sequence[Any], view: View, name: str) -> JournalRecord:
    """The record of a row of the journal."""
    _, seq, at, actor, operation, payload, salt, digest, head = values
    operation = reveal_operation(view.seal, operation)
    opened = None if payload is None else view.seal.open(payload, place="journal.payload", row=(view.project, seq))
    salt = None if salt is None else view.seal.open(salt, place="journal.salt", row=(view.project, seq))
    with suppress(CorruptStoreError):  # a digest that is damaged does not match its payload
        digest = view.seal.open(digest, place="journal.digest", row=(view.project, seq))
    return JournalRecord(name, seq, at, actor, operation, opened, salt, digest, head)


def redactions(view: View) -> Redactions:
    """Returns what purge records keep of those that they erased."""
    return {seq: changes for _, made in purges(view) for seq, changes in journal.redacted(made).items()}


def purges(view: View) -> Iterator[tuple[int, list[Change]]]:
    """The purge records that are in force: their `seq` and changes."""
    for values in list(touching(view, [journal.PURGE])):
        if values[5] is not None:
            yield values[1], changes_of(record_from(values, view, ""), {})


def touching(view: View, keys: Sequence[str], *, after: int = 0) -> Iterator[tuple[Any, ...]]:
    """The rows of the journal after a `seq` that touched any of the keys, each once, oldest first."""
    stored = [hide_touched(view.seal, key) for key in keys]
    given = {"project": view.project, "keys": json.dumps(stored), "after": after}
    return view.session.all("journal_touching", given)


def changes_of(record: JournalRecord, kept: Redactions) -> list[Change]:
    """Returns the changes of a record; of an erased one, what is left of it. `CorruptStoreError` if neither can be read."""
    try:
        if record.payload is not None:
            return journal.decode_payload(record.payload)
        return kept[record.seq]
    except KeyError as error:
        raise CorruptStoreError(
            f"the payload of journal record {record.seq} is gone without a purge; see `alma verify`"
        ) from error
    except (ValueError, TypeError) as error:
        raise CorruptStoreError(f"the payload of journal record {record.seq} is not readable; see `alma verify`") from error


def entries(view: View, *, after: int, keys: Sequence[str] | None) -> Iterator[Entry]:
    """The records after a `seq`, oldest first; with keys, those that touched one of them."""
    kept: Redactions | None = None
    of_project = {"project": view.project, "after": after}
    for values in view.session.all("journal_after", of_project) if keys is None else touching(view, keys, after=after):
        record = record_from(values, view, "")
        if record.payload is None and kept is None:  # reading purge records costs as much as what they keep
            kept = redactions(view)
        changes = changes_of(record, kept or {})
        yield Entry(record.seq, record.at, record.actor, record.operation, changes, record.payload is None)
