"""The tables that the journal speaks of, row by row against the journal."""

from itertools import pairwise

from alma.protocols import StoredRow
from alma.storage.relational.checks.expected import NUMBERED, Expected, Report
from alma.storage.relational.logical import TABLES, LogicalTable, View

ORDERED = ("memory", "passage")
"""Tables whose row numbers say in which order the rows were made."""


def check_rows(view: View, wanted: Expected, report: Report) -> int:
    """Compares every logical row with the journal, and returns how many memories there are."""
    found = {table.name: _compared(view, table, wanted, report) for table in TABLES.values()}
    for table, key in wanted.rows:
        if key not in found[table]:
            report(f"{table} {key}", "is in the journal, but its row is gone")
    for table in ORDERED:
        _check_order(table, wanted.keys(table), found[table], report)
    return len(found["memory"])


def _compared(view: View, table: LogicalTable, wanted: Expected, report: Report) -> dict[str, None]:
    """The keys of the rows of a table, in their order."""
    found: dict[str, None] = {}
    for stored in table.rows(view):
        if stored.key in found:
            report(f"{table.name} {stored.key}", "is there twice")
        found[stored.key] = None
        if fault := _fault(stored, wanted):
            report(f"{table.name} {stored.key}", fault)
    return found


def _fault(stored: StoredRow, wanted: Expected) -> str | None:
    row = wanted.rows.get((stored.table, stored.key))
    if row is None:
        return "is in no journal record"
    if stored.row is None:
        return stored.fault
    found = {**stored.row, "seq": stored.seq} if stored.table in NUMBERED else stored.row
    if found != row:
        columns = sorted(name for name in {*found, *row} if found.get(name) != row.get(name))
        return f"differs from the journal in {', '.join(columns)}"
    return None


def _check_order(table: str, keys: list[str], found: dict[str, None], report: Report) -> None:
    """Compares the order of the rows by number with that in which the journal made them."""
    places = {key: place for place, key in enumerate(keys)}
    numbered = [key for key in found if key in places]
    for before, after in pairwise(numbered):
        if places[before] > places[after]:
            report(f"{table} {after}", f"has a row number that puts it after {table} {before}, which was made later")
