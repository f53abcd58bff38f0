"""Output of the projection: the ways that were tried on a kind of task, and their results."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Side of a row: a heuristic, an anti-pattern, or neither yet."""

    WORKS = "works"
    """A heuristic."""
    FAILS = "fails"
    """An anti-pattern."""
    TRIED = "tried"
    """Neither yet."""


class Status(StrEnum):
    """Degree to which a rule is believed."""

    CANDIDATE = "candidate"
    LIKELY = "likely"
    PROVEN = "proven"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One way on such tasks, in all its wordings. Counts are whole trials, every outcome once."""

    way: str
    """The wording used most among those that may be shown, and that worked where the way mostly works; then the newest."""
    wordings: tuple[str, ...]
    outcomes: tuple[str, ...]
    """Ids, newest first, of all trials, unverified ones too."""
    trials: int
    """Judged trials."""
    successes: int
    partials: int
    unverified: int
    tasks: int
    """Distinct tasks."""
    last_run: int
    """The number of newest trials that all failed."""
    lately: int
    """Whole successes among the newest 8 trials."""
    last_at: int
    first_at: int
    mean: float
    """Expected rate of success."""
    lower: float
    upper: float
    """Interval of the rate at 95 %."""
    recent: float
    """Rate of success in which 8 later trials halve the weight of a trial."""
    side: Side
    status: Status | None
    """Status of a rule; `None` for a row that is no rule yet."""
    error: str | None
    """The most telling error that may be shown."""
    alternative: "Row | None"
    """Better way with at least two tasks behind it, for a way that fails."""
    agents: tuple[str, ...]
    """Agents that tried it, most trials first."""
    users: tuple[str | None, ...]
    by_agent: dict[str, tuple[int, int, int]]
    """Successes, partial successes and trials of each agent."""
    task_text: str | None
    """The newest task on which it was tried that may be shown."""
    anchors: tuple[str, ...]
    """Ids of the first outcomes of its side, at most 8: by them a rule is known again."""
    hidden: frozenset[str] = frozenset()
    """Ids of the outcomes that are counted and may not be shown."""

    @property
    def failures(self) -> int:
        """Whole failures."""
        return self.trials - self.successes - self.partials


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Ways that were tried on one kind of task, best first: by mean, then by trials."""

    rows: tuple[Row, ...]
    nearness: float
    """Nearness of the kind to the question."""
    tasks: int
    trials: int
    """Judged trials, with or without a named way."""
    successes: int
    """Whole successes among them."""
    partials: int
    """Partial successes among them."""
    base: float
    """Rate of success of everything that the reader may read."""
    place_of: Callable[[str], int | None]
    """Finds the place of the row that an action belongs to."""
    holds: Callable[[str], bool] = lambda trial_id: False
    """Checks that an outcome is of such a task, by its id."""
    task_type: str | None = None
    """Stated type of the tasks."""
    own: tuple[int, int, int] = (0, 0, 0)
    """Successes, partial successes and judged trials of the very task that is asked about, without those recorded for another user."""
    unnamed: Row | None = None
    """The attempts that name no way, counted together; its `way` is ""."""
    similarities: tuple[float, ...] = ()
    """Of each row the cosine of the question to the nearest task in the evidence that may be read, 0 at least; 1 for the same task, and without a
    question. Of a row without such a task the nearness of the kind."""

    def find(self, action: str) -> Row | None:
        """Returns the row that an action belongs to: equal words, the same call or command, else the nearest of one way."""
        place = self.place_of(action) if self.rows else None
        return None if place is None else self.rows[place]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The row of an action."""

    row: Row
    table: Table
    is_elsewhere: bool
    """Found on another kind of task, in equal words: to be stated as that."""

    @property
    def similarity(self) -> float:
        """Cosine of the question to the nearest task in the evidence, as in the table."""
        return self.table.similarities[self.table.rows.index(self.row)]
