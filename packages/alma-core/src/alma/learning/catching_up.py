"""What others recorded since the evidence in hand was read, taken in from the journal. To read all of it anew takes milliseconds, each time."""

from collections.abc import Iterable, Sequence

from alma.journal import PURGE, Change
from alma.learning.ledger import Ledger, VectorsOf
from alma.protocols import Entry, Learned
from alma.types.evidence import class_in
from alma.types.kinds import MemoryType

MOST_RECORDS = 64
"""After more records than these the evidence is read anew."""


def catch_up(ledger: Ledger, entries: Iterable[Entry], *, upto: int, learned: Learned, vectors_of: VectorsOf) -> bool:
    """Makes the ledger that of record `upto`, by the records since its own. `False`, and the ledger is of no use any more, if they are too many
    or took something away."""
    changed: dict[str, None] = {}
    for number, entry in enumerate(entries):
        if entry.seq > upto:
            break
        if number == MOST_RECORDS or entry.is_purged or any(map(_takes_away, entry.changes)):
            return False
        changed.update(dict.fromkeys(_touched(entry.changes)))
    if changed and ledger.books:
        ledger.take_in(learned.of_tasks(changed), learned, vectors_of)
    ledger.upto = upto
    return True


def _takes_away(change: Change) -> bool:
    return change.table == PURGE or (change.after is None and change.table in ("memory", "evidence"))


def _touched(changes: Sequence[Change]) -> Iterable[str]:
    """The tasks, as the beginnings of ids of evidence, whose evidence or outcomes a record changed."""
    for change in changes:
        row = change.after or {}
        if change.table == "evidence":
            yield class_in(change.key)
        elif (
            change.table == "memory" and row.get("evidence") and (change.before is not None or row["kind"] == MemoryType.OUTCOME)
        ):
            yield class_in(str(row["evidence"]))
