"""Damage that was found, with its place and the area that it lies in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from alma.storage.relational.rows import UNREADABLE
from alma.types.reports import Problem, VerifyReport

MOST_PROBLEMS = 100

_STOPPING = (ArithmeticError, MemoryError, *UNREADABLE)


class Area(Enum):
    """Where damage lies. What is in the first two can come from nowhere else."""

    FILE = "file"
    JOURNAL = "journal"
    TABLES = "tables"
    FULL_TEXT = "full text"
    VECTORS = "vectors"


@dataclass(slots=True)
class Findings:
    """The result of looking through a database, as it grows. `areas` has the damaged ones of each project by its row, `None` for the whole file."""

    stopping: tuple[type[Exception], ...] = ()
    """Errors of the driver that damage may raise."""
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    areas: dict[int | None, set[Area]] = field(default_factory=dict)
    unembedded: dict[int, set[str]] = field(default_factory=dict)
    """Texts without a sound vector, by project row."""
    rows: list[int] = field(default_factory=list)
    """The projects that were looked through, by row."""
    records: int = 0
    memories: int = 0
    vectors: int = 0
    purged: int = 0
    heads: dict[str, str] = field(default_factory=dict)

    def add(self, area: Area, place: str, what: str, *, project: tuple[int, str] | None = None) -> None:
        """Notes a problem of a project, given by row and name, or of the whole file. The first hundred are kept: one page can make thousands."""
        row, name = project or (None, None)
        self.areas.setdefault(row, set()).add(area)
        self.count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(project_id=name and _printable(name), place=_printable(place), what=_printable(what)))

    def step(self, area: Area, work: Callable[[], None], *, project: tuple[int, str] | None = None) -> None:
        """Runs a part of the search. Damage that stops it is a finding, not the end."""
        try:
            work()
        except Exception as error:
            if not isinstance(error, (*_STOPPING, *self.stopping)):
                raise
            self.add(area, f"database file ({area.value})", f"cannot be read any further: {error}", project=project)

    def report(self, rebuilt: tuple[Problem, ...] = ()) -> VerifyReport:
        """The findings as callers get them."""
        return VerifyReport(
            problems=tuple(self.problems),
            rebuilt=rebuilt,
            projects=len(self.rows),
            records=self.records,
            memories=self.memories,
            vectors=self.vectors,
            purged=self.purged,
            heads=self.heads,
        )


def _printable(text: str) -> str:
    """The text as UTF-8 can carry it: what is damaged may be no text at all."""
    return text.encode("utf-8", "backslashreplace").decode()
