"""Imports a database of the package alma-memory. Each batch of rows is a transaction, and rows that were imported before are left
alone."""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from alma.errors import ScopeViolationError, ValidationError
from alma.files import checked_path
from alma.memory.arguments import Progress, checked_text, with_progress
from alma.memory.room import Room
from alma.memory.transfer.intake import Candidate, Intake
from alma.text import quoted, shortened
from alma.types.kinds import MemoryType, VerdictSource
from alma.types.reports import MigrationReport
from alma_cli.migrating.alma_memory import TABLES, Found, Table, read, strategy_of
from alma_cli.migrating.foreign_rows import Row
from alma_cli.migrating.foreign_sqlite import ForeignDatabase, foreign_database

MOST_LISTED = 8
_OWN_TABLES = {"journal", "memory", "passage"}
_BOOKKEEPING = {"embeddings", "_schema_versions"}

FORMED = "alma-memory formed it: rules are formed anew from the outcomes"
FORMED_ALONE = "alma-memory formed it, and no outcome of that strategy is left in the file"


def import_alma_memory(
    room: Room,
    source: str | os.PathLike[str],
    *,
    project: str | None = None,
    verdict_source: str | VerdictSource = VerdictSource.IMPORTED,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MigrationReport:
    """Imports one project of a database of alma-memory into this one."""
    if not isinstance(source, str | os.PathLike):
        raise ValidationError(f"import_alma_memory needs the path of a database, not {quoted(source)}")
    path = checked_path(source)
    judged_by = VerdictSource.checked(verdict_source)
    if os.path.isdir(path):  # `False` for a path that no file system can have, which is refused below
        raise ValidationError(f"{quoted(str(path))} is a folder; name the database in it, which alma-memory calls alma.db")
    with foreign_database(path) as database:
        tables = _tables(database)
        chosen = _chosen_project(room, database, tables, project)
        work = _Migration(room, str(path), database, chosen, judged_by, dry_run, room.store.clock())
        return with_progress(progress, lambda on_progress: work.run(tables, on_progress))


def _tables(database: ForeignDatabase) -> list[Table]:
    """Returns the tables of alma-memory that exist. `ValidationError` names the tables found instead."""
    there = database.tables()
    found = [table for table in TABLES if table.needed <= set(there.get(table.name, ()))]
    if found:
        return found
    if there.keys() >= _OWN_TABLES:
        raise ValidationError(f"{database.name} is a store of ALMA itself: use `alma export` there and `alma import` here")
    names = shortened(", ".join(itertools.islice(there, MOST_LISTED)), 200) + (" …" if len(there) > MOST_LISTED else "")
    held = f"its tables are {names}" if there else "it has no tables"
    raise ValidationError(f"{database.name} is no database of alma-memory: {held}")


def _chosen_project(room: Room, database: ForeignDatabase, tables: Sequence[Table], wanted: str | None) -> str | None:
    """Returns the project to read: the one named, the only one, or that of this project's name; `None` if there are only preferences."""
    rows: dict[str, int] = {}
    for table in tables:
        if table.kind is not MemoryType.USER_PREFERENCE:
            for name, count in database.counts_by(table.name, "project_id").items():
                if isinstance(name, str):
                    rows[name] = rows.get(name, 0) + count
    if wanted is None and len(rows) <= 1:
        return next(iter(rows), None)
    chosen = room.name if wanted is None else checked_text(wanted, "project")
    if chosen in rows:
        return chosen
    held = ", ".join(f"{shortened(name, 60)!r} ({count:,} rows)" for name, count in sorted(rows.items())[:MOST_LISTED])
    fault = f"has no project {quoted(chosen)}" if wanted else "holds several projects, none of this one's name"
    raise ValidationError(f"{database.name} {fault}; name one of them as the project: {held or 'there are none'}")


@dataclass(slots=True)
class _Migration:
    """One run. `said` maps the hash of a row's content to its id, `tried` holds the hashes of agents with the strategies of their
    outcomes."""

    room: Room
    source: str
    database: ForeignDatabase
    project: str | None
    judged_by: VerdictSource
    is_dry: bool
    now: datetime
    said: dict[int, str] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)

    def run(self, tables: Sequence[Table], on_progress: Progress | None) -> MigrationReport:
        intake = Intake(self.room, dry_run=self.is_dry, total=sum(map(self._count, tables)), on_progress=on_progress)
        for table in tables:
            intake.take(table.kind, (self._candidate(table, row) for row in self._rows(table)))
        return intake.report(source=self.source, source_project=self.project or "", not_read=self._not_read(tables))

    def _candidate(self, table: Table, row: Row) -> Candidate:
        try:
            one = read(table, row, now=self.now, source=self.judged_by)
        except (ValidationError, ScopeViolationError) as error:
            return Candidate(str(error), row)
        return Candidate(self._reason_to_skip(one, row) or one.memory, row, one.remarks)

    def _reason_to_skip(self, one: Found, row: Row) -> str | None:
        memory = one.memory
        strategy = hash((memory.agent, strategy_of(memory)))
        if one.is_formed:
            return FORMED if strategy in self.tried else FORMED_ALONE
        if memory.kind == MemoryType.OUTCOME:
            self.tried.add(strategy)
        first = self.said.setdefault(hash(one.said), memory.id)
        return None if first == memory.id else "another row says the same"

    def _where(self, table: Table) -> tuple[str, object] | None:
        return None if table.kind is MemoryType.USER_PREFERENCE else ("project_id", self.project)

    def _rows(self, table: Table) -> Iterator[Row]:
        """Yields outcomes in the order in which they happened; other rows newest first, because the first of equal rows is kept."""
        is_outcome = table.kind is MemoryType.OUTCOME
        columns = self.database.tables()[table.name]
        order = table.time if table.time in columns else None
        return self.database.rows(table.name, where=self._where(table), order=order, newest_first=not is_outcome)

    def _count(self, table: Table) -> int:
        where = self._where(table)
        return (
            self.database.count(table.name) if where is None else self.database.counts_by(table.name, where[0]).get(where[1], 0)
        )

    def _not_read(self, tables: Sequence[Table]) -> dict[str, int]:
        read_tables = {table.name for table in tables} | _BOOKKEEPING
        return {name: self.database.count(name) for name in self.database.tables() if name not in read_tables}
