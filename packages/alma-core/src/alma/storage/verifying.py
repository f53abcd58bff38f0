"""Looks for damage: the file itself, each project's chain, every row against what the journal says of it, every vector and index entry."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from alma.storage.checks.expected import Expected, Report, replay
from alma.storage.checks.file import check_file
from alma.storage.checks.findings import Area, Findings
from alma.storage.checks.full_text import check_full_text
from alma.storage.checks.lists import check_head, check_lists
from alma.storage.checks.rows import check_evidence, check_rows
from alma.storage.checks.vectors import check_vectors
from alma.storage.database import Database
from alma.storage.logical import View
from alma.storage.reembedding import dimensions_of
from alma.storage.seal import Seal
from alma.types.reports import VerifyReport

_PROJECTS = "SELECT row, name FROM project ORDER BY row"


def verify(database: Database, *, seal: Seal) -> VerifyReport:
    """What is wrong with the database, each problem with its place. A consistent view, while others may go on writing."""
    with database.snapshot_apart() as connection:
        return examined(connection, seal=seal).report()


def examined(connection: sqlite3.Connection, *, seal: Seal) -> Findings:
    """Looks through all that a connection sees."""
    findings = Findings()
    projects: list[tuple[int, str]] = []
    dimensions: dict[int, int] = {}
    with any_text(connection):
        findings.step(Area.FILE, lambda: projects.extend(connection.execute(_PROJECTS)))
        findings.step(Area.FILE, lambda: dimensions.update(dimensions_of(connection)))
        check_file(connection, [row for row, _ in projects], findings)
        findings.rows += [row for row, _ in projects]
        for project in projects:
            _Project(View(connection, project[0], seal), project, dimensions, findings).check()
    return findings


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Has the driver read damaged text as well, which it would refuse: so it is compared, and its place named."""
    before, connection.text_factory = connection.text_factory, lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


@dataclass(frozen=True, slots=True)
class _Project:
    """The checks of one project, given by row and name."""

    view: View
    project: tuple[int, str]
    dimensions: Mapping[int, int]
    findings: Findings

    def check(self) -> None:
        """All checks, the journal first: the others compare with it."""
        wanted = Expected()
        self._step(Area.JOURNAL, lambda report: replay(wanted, self.view, self.project[1], report))
        self._step(Area.JOURNAL, lambda report: check_head(self.view, wanted, report))
        self._note(wanted)
        self._step(Area.TABLES, lambda report: self._count(check_rows(self.view, wanted, report)))
        self._step(Area.JOURNAL, lambda report: check_evidence(self.view, wanted, report))
        self._step(Area.TABLES, lambda report: check_lists(self.view, wanted, report))
        if self.dimensions:
            self._step(Area.VECTORS, lambda report: self._compare_vectors(wanted, report))
        self._step(Area.FULL_TEXT, lambda report: check_full_text(self.view, report))

    def _step(self, area: Area, work: Callable[[Report], None]) -> None:
        def report(place: str, what: str) -> None:
            self.findings.add(area, place, what, project=self.project)

        self.findings.step(area, lambda: work(report), project=self.project)

    def _note(self, wanted: Expected) -> None:
        self.findings.records += wanted.records
        self.findings.purged += wanted.purged
        self.findings.heads[self.project[1]] = wanted.head.hex()

    def _count(self, memories: int) -> None:
        self.findings.memories += memories

    def _compare_vectors(self, wanted: Expected, report: Report) -> None:
        missing = self.findings.unembedded.setdefault(self.project[0], set()).add
        self.findings.vectors += check_vectors(self.view, wanted, self.dimensions, report, missing)
