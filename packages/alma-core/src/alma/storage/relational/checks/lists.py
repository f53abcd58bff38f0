"""Checks the rest of a project against the journal: its head, its partitions, its history, its list of removed passages."""

from collections.abc import Iterator

from alma.storage.relational.checks.expected import Expected, Report
from alma.storage.relational.hidden_keys import hide_touched, reveal_touched
from alma.storage.relational.logical import View

_Fault = tuple[str, str]


def check_lists(view: View, wanted: Expected, report: Report) -> None:
    """Compares all of them with the journal."""
    for faults in (_learned, _partitions, _touched, _removed):
        for place, what in faults(view, wanted):
            report(place, what)


def check_head(view: View, wanted: Expected, report: Report) -> None:
    """Compares the end of the journal with the one that the project names."""
    seq, head, _ = view.ends()
    if (wanted.seq, wanted.head) != (seq, head):
        report(f"journal record {seq}", f"the newest record should be {seq}; the journal ends at {wanted.seq}")


def _learned(view: View, wanted: Expected) -> Iterator[_Fault]:
    *_, learned = view.ends()
    if learned != wanted.learned_seq:
        yield (
            "project",
            f"its learned_seq is {learned}, but record {wanted.learned_seq} is the newest that may change what is learned",
        )


def _partitions(view: View, wanted: Expected) -> Iterator[_Fault]:
    """Partitions that no memory can have. After a purge there may be some whose owner the journal no longer names."""
    for row, is_user, owner, kind, is_used in view.session.all("partitions_used", {"project": view.project}):
        if is_user not in (0, 1):
            yield f"partition {row}", f"its is_user is {is_user}, neither 0 nor 1"
        elif not is_used and not wanted.purged and (bool(is_user), owner, kind) not in wanted.owners:
            yield f"partition {row}", f"is of {owner} and of {kind} memories, of which there never was one"


def _touched(view: View, wanted: Expected) -> Iterator[_Fault]:
    held = set(view.session.all("touched_all", {"project": view.project}))
    touched = {(hide_touched(view.seal, key), seq) for key, seq in wanted.touched}
    for key, seq in sorted((reveal_touched(view.seal, key), seq) for key, seq in touched - held):
        yield f"history of {key}", f"does not list record {seq}"
    for key, seq in sorted((reveal_touched(view.seal, key), seq) for key, seq in held - touched):
        yield f"history of {key}", f"lists record {seq}, which did not change it"


def _removed(view: View, wanted: Expected) -> Iterator[_Fault]:
    held = dict(view.session.all("removed_counts", {"project": view.project}))
    for seq, count in wanted.removals.items():
        if count is not None and (found := held.get(seq, 0)) != count:
            yield f"removed passages of record {seq}", f"lists {found}, but the record removed {count}"
    for seq in sorted(held.keys() - wanted.removals.keys()):
        yield f"removed passages of record {seq}", "there is no such record"
