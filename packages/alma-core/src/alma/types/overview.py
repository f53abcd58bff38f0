"""Summary of a project: the result of `overview`, which `alma report` shows."""

from datetime import date

from pydantic import Field

from alma.types.episodes import EpisodeRecord
from alma.types.identity import Access, Fingerprint, MemoryScope, UtcDatetime, Value
from alma.types.memories import AnyMemory
from alma.types.reports import Stats, VerifyReport
from alma.types.strategies import Range, StrategyRecord


class DayCount(Value):
    """Count for one day (UTC): memories of a kind, or journal records of an operation."""

    day: date
    name: str
    count: int


class KnownMemory(Value):
    """A memory with its usage counts. `shown` counts the recent episodes that it was shown in."""

    memory: AnyMemory
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    shown: int


class OwnerView(Value):
    """An agent, or a user (whose memories are preferences): its counts, its rules, and whose memories it reads by which rule."""

    name: str
    is_user: bool
    by_kind: dict[str, int]
    rules: MemoryScope | None = None
    reads: dict[str, Access] = Field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of its memories."""
        return sum(self.by_kind.values())


class JournalLine(Value):
    """One journal record, without its changes."""

    seq: int
    at: UtcDatetime
    actor: str
    operation: str
    is_purged: bool


class ClassView(Value):
    """Strategies tried for one class of an agent's tasks, the surest to work first. `strategies` also counts those that are not among the
    `rows`.

    `trials`, `successes` and `partials`, the partly successful ones, are of all of them, and of attempts that named no strategy.
    """

    agent: str
    task: str
    task_type: str | None
    trials: int
    successes: int
    partials: int = 0
    strategies: int
    rows: tuple[StrategyRecord, ...]


class RunsView(Value):
    """Consecutive attempts, oldest first, and their successes; a partial success counts half. The share is in `interval` at 95 %."""

    first: UtcDatetime
    last: UtcDatetime
    trials: int
    successes: float
    interval: Range

    @property
    def share(self) -> float:
        """The share of successes."""
        return self.successes / self.trials


class LearningView(Value):
    """Summary of learning: the classes with the most trials, of `all_classes`; how many of the rules that hold were "formed" on each
    day; and the results of the newest attempts, in groups of equal size but for the last. `older_rules` and `older_outcomes` are numbers of
    those that are not among these. `outcomes_of_users` is the number of outcomes behind the wall of a user: the classes leave out what
    is known for one user alone."""

    classes: tuple[ClassView, ...] = ()
    all_classes: int = 0
    rules: tuple[DayCount, ...] = ()
    runs: tuple[RunsView, ...] = ()
    older_rules: int = 0
    older_outcomes: int = 0
    outcomes_of_users: int = 0


class DayView(Value):
    """Memories that were made on one day (UTC), by kind, and results of its outcomes.

    Of the outcomes, `judged` have a verdict; a partial success counts half in `successes`. `interval` is that of their share at 95 %, `None`
    without a verdict. `formed` counts the rules whose last necessary outcome is of this day, as far as they are among the 200 rules with the
    newest outcomes.
    """

    day: date
    by_kind: dict[str, int]
    judged: int
    successes: float
    interval: Range | None
    formed: int


class Timeline(Value):
    """Days on which memories were made, oldest first. The sums of `by_kind` are those of the statistics."""

    days: tuple[DayView, ...]


class UsageView(Value):
    """Usage over all memories: what was used of what was shown. `ever_used` of them were used at least once."""

    memories: int
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    ever_used: int


class StoreView(Value):
    """State of the store: its embedder, its sizes in bytes, and the result of `verify`, if it was run.

    `database_bytes` is of all projects, the rest of this one.
    """

    embedder: Fingerprint
    database_bytes: int
    archived: int
    passages: int
    text_bytes: int
    vectors: int
    vector_bytes: int
    records: int
    payload_bytes: int
    purged: int
    verified: VerifyReport | None


class Overview(Value):
    """Summary of a project. Memories are ordered by most evidence first, journal records and episodes newest first."""

    project_id: str
    made_at: UtcDatetime
    stats: Stats
    growth: tuple[DayCount, ...]
    activity: tuple[DayCount, ...]
    memories: tuple[KnownMemory, ...]
    owners: tuple[OwnerView, ...]
    journal: tuple[JournalLine, ...]
    episodes: tuple[EpisodeRecord, ...]
    usage: UsageView
    store: StoreView
    learning: LearningView = LearningView()
