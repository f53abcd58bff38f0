"""Looks for damage in projects: each one's chain, every row against what the journal says of it, every vector."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from alma.storage.relational.checks.expected import Expected, Report, replay
from alma.storage.relational.checks.findings import Area, Findings
from alma.storage.relational.checks.lists import check_head, check_lists
from alma.storage.relational.checks.rows import check_rows
from alma.storage.relational.checks.vectors import check_vectors
from alma.storage.relational.logical import View
from alma.storage.relational.reembedding import dimensions_of
from alma.storage.relational.seal import Seal
from alma.storage.relational.session import Session

CheckText = Callable[[View, Report], None]
"""Checks the full text of a project, in the way of the database that has it."""


def examine(
    session: Session,
    findings: Findings,
    *,
    seal: Seal,
    check_store: Callable[[list[int]], None],
    check_text: CheckText,
) -> None:
    """Looks through all that a session sees. `check_store` gets the rows of the projects, and comes first."""
    projects: list[tuple[int, str]] = []
    dimensions: dict[int, int] = {}
    findings.step(Area.FILE, lambda: projects.extend((row, str(name)) for row, name in session.all("projects")))
    findings.step(Area.FILE, lambda: dimensions.update(dimensions_of(session)))
    check_store([row for row, _ in projects])
    findings.rows += [row for row, _ in projects]
    for project in projects:
        _Project(View(session, project[0], seal), project, dimensions, findings).check(check_text)


@dataclass(frozen=True, slots=True)
class _Project:
    """The checks of one project, given by row and name."""

    view: View
    project: tuple[int, str]
    dimensions: Mapping[int, int]
    findings: Findings

    def check(self, check_text: CheckText) -> None:
        """All checks, the journal first: the others compare with it."""
        wanted = Expected()
        self._step(Area.JOURNAL, lambda report: replay(wanted, self.view, self.project[1], report))
        self._step(Area.JOURNAL, lambda report: check_head(self.view, wanted, report))
        self._note(wanted)
        self._step(Area.TABLES, lambda report: self._count(check_rows(self.view, wanted, report)))
        self._step(Area.TABLES, lambda report: check_lists(self.view, wanted, report))
        if self.dimensions:
            self._step(Area.VECTORS, lambda report: self._compare_vectors(wanted, report))
        self._step(Area.FULL_TEXT, lambda report: check_text(self.view, report))

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
