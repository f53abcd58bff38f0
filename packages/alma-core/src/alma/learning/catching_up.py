"""What others learned since the evidence in hand was read, taken in from the journal. To read all of it anew takes milliseconds, each time."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from alma.journal import PURGE, Change, entity
from alma.learning.ledger import Ledger, Vectors, note_class
from alma.protocols import Entry
from alma.types.evidence import class_id, class_in, is_of_steps, own_class
from alma.types.kinds import MemoryType

MOST_RECORDS = 64
"""After more records than these the evidence is read anew."""

_Begun = tuple[str, str, str, bool]
"""Agent, class, the task that stands for it, and whether there is more than one outcome."""


def catch_up(ledger: Ledger, entries: Iterable[Entry], *, upto: int, vectors_of: Callable[[Iterable[str]], Vectors]) -> bool:
    """Makes the ledger that of record `upto`, by the records since its own. `False`, and the ledger is of no use any more, if they are too many
    or took something away."""
    begun: list[_Begun] = []
    changed: set[str] = set()
    for number, entry in enumerate(entries):
        if entry.seq > upto:
            break
        if number == MOST_RECORDS or entry.is_purged or any(map(_takes_away, entry.changes)):
            return False
        changed.update(class_in(change.key) for change in entry.changes if change.table == "evidence")
        begun += _begun(entry.changes)
    if changed:
        ledger.books = {place: book for place, book in ledger.books.items() if class_id(*place) not in changed}
    vectors = vectors_of([task for agent, _, task, _ in begun if agent in ledger.classes])
    for agent, task_class, task, keep in begun:
        if (known := ledger.classes.get(agent)) is not None:
            note_class(known, task_class, task, vectors.get(task), keep=keep)
    ledger.upto = upto
    return True


def _takes_away(change: Change) -> bool:
    return change.table == PURGE or (change.after is None and change.table in ("memory", "evidence"))


def _begun(changes: Sequence[Change]) -> Iterator[_Begun]:
    """The classes of whose first outcome, or of the first evidence on them, a record tells."""
    tasks = _first_passages(changes)
    for change in changes:
        row = change.after
        if change.before is not None or row is None:
            continue
        if change.table == "evidence" and row["task"] is not None:
            yield row["agent"], row["task_class"], row["task"], True
        elif change.table == "memory" and row["kind"] == MemoryType.OUTCOME and row["evidence"]:
            task_class = own_class(row["body"].get("task_type"), tasks[change.key], is_step=is_of_steps(row["evidence"]))
            if class_id(row["agent"], task_class) == class_in(row["evidence"]):
                yield row["agent"], task_class, tasks[change.key], False


def _first_passages(changes: Sequence[Change]) -> dict[str, str]:
    """The text of the first passage of each memory that is new."""
    made = [change for change in changes if change.table == "passage" and change.before is None and change.after]
    made.sort(key=lambda change: (change.after or {})["position"], reverse=True)
    return {entity(change.table, change.key): str((change.after or {})["text"]) for change in made}
