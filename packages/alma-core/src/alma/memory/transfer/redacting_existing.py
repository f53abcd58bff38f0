"""Replacing the secrets that a project holds from before it redacted: its rows are stored anew without them, and its former records are erased.

A secret may be in any record of the journal. So all that the project holds is exported, redacted, purged
and imported in one transaction. What no record can be redacted in, it loses: history begins anew.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, BinaryIO

from alma import journal
from alma.errors import ConflictError, ValidationError
from alma.memory.redacting import IDS, Redaction
from alma.memory.room import Room
from alma.memory.transfer.export import export
from alma.memory.transfer.import_checks import Contents, checked_file, lines_between
from alma.memory.transfer.importing import Present, Steps, Vectors, embed, put
from alma.memory.transfer.redacted_export import redacted_export, redacted_line
from alma.protocols import NextWrite
from alma.types.episodes import LEASE
from alma.types.reports import MAINTENANCE, RedactReport
from alma.types.stored import Erased
from alma_guard import kind_of_placeholder, placeholders_in

_NAMES = IDS | {"owner"}
"""Columns that name something: what they hold is stored as it is, so it is no reason to begin anew."""


def redact_existing(room: Room, *, dry_run: bool = False) -> RedactReport:
    """Replaces the secrets that this project holds from before it redacted, everywhere, in one transaction.

    With `dry_run` it only says what there is. All is stored anew without them, with the same ids, counts and rules, and embedded anew. The former
    records of the journal are erased, for a secret may be in any: history begins anew, and there is no undo of it. `compact` then removes the
    last bytes from the files. `ConflictError` if another process writes meanwhile: nothing was changed then.
    """
    redaction = room.store.redaction
    if redaction.given == "off":
        raise ValidationError(
            'the store was opened with redact="off"; open it with "on", "personal" or a function to redact what it holds'
        )
    with room.store.spool() as spool, room.store.spool() as clean, room.store.spool() as numbers:
        export(room, spool)
        found = _found(room, redaction, spool)
        if dry_run or not (found.rows or found.history):
            return found
        file = redacted_export(spool, redaction, clean)
        contents, present, steps = checked_file(file), Present(), Steps(None, 0)
        vectors = Vectors(numbers, 2 * room.store.texts.fingerprint.dimension)
        embed(room, file, contents, present, vectors, steps)

        def store(next_write: NextWrite, _: Erased) -> None:
            _check_head(next_write, contents)
            put(next_write, file, contents, present, vectors, steps)

        memories, records = _ever_stored(room)
        erased = room.project.purge(memories, records=records, actor="", at=room.now(), then=store)
    room.forget_texts()
    room.index.drop_snapshot()
    return found.model_copy(update={"seq": None if erased is None else erased.seq})


def _check_head(next_write: NextWrite, contents: Contents) -> None:
    """`ConflictError` if anything was written since the project was read: it would be lost."""
    with next_write() as write:
        if write.seq != contents.header.seq + 2:  # the record of the purge is between
            raise ConflictError(
                "the project was written to while its secrets were looked for; nothing was changed, so call it again"
            )


def _found(room: Room, redaction: Redaction, file: BinaryIO) -> RedactReport:
    changed = [(line, made) for line in lines_between(file) if (made := redacted_line(redaction, line)) is not line]
    secrets: set[str] = set()
    for line, made in changed:
        secrets |= placeholders_in(made.model_dump_json()) - placeholders_in(line.model_dump_json())
    kinds = Counter(map(kind_of_placeholder, secrets))
    history = sum(_holds_secret(redaction, (change.after for change in entry.changes)) for entry in room.project.entries())
    return RedactReport(project=room.name, rows=len(changed), history=history, kinds=dict(sorted(kinds.items())))


def _holds_secret(redaction: Redaction, rows: Iterable[Any]) -> bool:
    texts = ({name: value for name, value in row.items() if name not in _NAMES} for row in rows if row is not None)
    return any(redaction.value(row) != row for row in texts)


def _ever_stored(room: Room) -> tuple[list[str], list[str]]:
    """The ids of all memories, names of retired rows, and names of all small records that there ever were, but for those of this store alone."""
    names: dict[str, dict[str, None]] = {"memory": {}, "record": {}}
    for entry in room.project.entries():
        for change in entry.changes:
            if change.table == journal.RETIRED_TABLE:
                names["memory"][journal.entity(change.table, change.key)] = None
            elif change.table in names:
                names[change.table][change.key] = None
    kept = (f"{LEASE}/", f"{MAINTENANCE}/")
    return list(names["memory"]), [name for name in names["record"] if not name.startswith(kept)]
