"""The database that alma-memory 0.11.0 wrote (`examples/data/migrating`), and what tests change in copies of it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from alma.types.reports import MigratedKind, MigrationReport

OLD_MEMORY = Path(__file__).resolve().parents[2] / "examples" / "data" / "migrating" / "old-memory.db"


def copied(folder: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copyfile(OLD_MEMORY, folder / "old.db"))


def change(path: Path, *statements: str) -> None:
    """Runs SQL on a database, as its own program would."""
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


def insert(path: Path, table: str, **row: object) -> None:
    """Adds a row; the columns that are not named are empty."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def emptied(folder: Path) -> Path:
    """A copy of the same tables without a row."""
    path = copied(folder)
    change(
        path, *(f"DELETE FROM {name}" for name in ("outcomes", "heuristics", "anti_patterns", "domain_knowledge", "preferences"))
    )
    return path


def outcome(path: Path, row_id: object = "o1", **fields: object) -> None:
    """Adds an outcome of helena's in web-shop."""
    given = {"agent": "helena", "project_id": "web-shop", "task_description": "Count the invoices", "success": 1}
    insert(path, "outcomes", **{"id": row_id, "timestamp": "2026-03-02T09:00:00+00:00", **given, **fields})


def of_kind(report: MigrationReport, kind: str) -> MigratedKind:
    """Returns the report on one kind."""
    (found,) = (one for one in report.kinds if one.kind == kind)
    return found


def reasons(report: MigrationReport, kind: str = "outcome") -> dict[str, str]:
    """The reasons for which rows of a kind were skipped, by the first row of each."""
    return {remark.first: remark.reason for remark in of_kind(report, kind).skipped}


def changes(report: MigrationReport, kind: str = "outcome") -> dict[str, str]:
    """Returns what was left out of stored rows of a kind, by the first row of each."""
    return {remark.first: remark.reason for remark in of_kind(report, kind).changed}
