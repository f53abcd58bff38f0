"""Advice on strategies, for people and agents (tables, warnings, assessments), and the small records of the rules behind it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any
from uuid import UUID

from pydantic import computed_field, model_validator

from alma.types.identity import UtcDatetime, Value, agent_in
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Share
from alma.types.sentences import AS_A_STEP, brief, describe_record, ends_with, times
from alma.types.tags import defused

WORKS, FAILS, TRIED = "works", "fails", "tried"
"""The side of a way: a heuristic, an anti-pattern, or neither yet."""

UNNAMED = "no strategy named"
"""Label of the row of attempts that name no strategy."""

SIDES: Mapping[str, str] = {MemoryType.HEURISTIC.value: WORKS, MemoryType.ANTI_PATTERN.value: FAILS}
"""The side of a way by the kind of a rule about it."""


class Range(Value):
    """Interval of a number at 95 %."""

    lower: float
    upper: float


class Judgement(StrEnum):
    """Summary of the record of a strategy, in a word or two."""

    WORKS = "works"
    SEEMS_TO_WORK = "seems to work"
    UNDECIDED = "undecided"
    SEEMS_TO_FAIL = "seems to fail"
    FAILS = "fails"
    UNKNOWN = "unknown"


LABELS = {
    Judgement.WORKS: "strong_yes",
    Judgement.SEEMS_TO_WORK: "yes",
    Judgement.UNDECIDED: "neutral",
    Judgement.UNKNOWN: "neutral",
    Judgement.SEEMS_TO_FAIL: "caution",
    Judgement.FAILS: "avoid",
}
"""The recommendation for each verdict in the words of alma-memory."""


class StrategyRecord(Value):
    """A way that was tried on tasks like the one asked about, of one type, or on all, in whatever words.

    Counts are whole: `successes`, `partials` and failures add up to `trials`, on `tasks` tasks; `unverified` outcomes are not among them. The
    newest `last_run` trials all failed; of the newest 8, `lately` succeeded (`None` where that is not known). `expected` is the rate of success to
    expect, drawn towards the agent's rate where little is known; `interval` bounds it at 95 %. `recent_rate` weighs later trials more. `rule`
    says what the way amounts to: "works" (a heuristic), "fails" (an anti-pattern) or "tried". `id` is that of the rule, else of the newest
    outcome; `record_usage` takes either. `outcome_ids` are the newest outcomes behind it, newest first.
    `similarity` is the nearness of the nearest task, from −1 to 1, `None`
    if no task was asked about.
    `propensity` is the probability with which this row came first, for the first row. `is_of_steps` is True where it was tried as a step of
    attempts, not as the strategy of whole ones. `elsewhere` is True where it was only tried on another kind of task, in equal words.
    """

    id: str = ""
    tag: str | None = None
    strategy: str
    wordings: tuple[str, ...] = ()
    task: str = ""
    task_type: str | None = None
    agent: str
    trials: int
    successes: int
    partials: int = 0
    unverified: int = 0
    tasks: int = 0
    last_run: int = 0
    lately: int | None = None
    rate: Share
    expected: Share = 0.5
    interval: Range
    recent_rate: Share = 0.5
    propensity: Share | None = None
    last_used: UtcDatetime
    rule: str = TRIED
    status: str | None = None
    verdict: Judgement
    heuristic_id: str | None = None
    anti_pattern_id: str | None = None
    why_bad: str | None = None
    better_alternative: str | None = None
    shared_from: str | None = None
    similarity: float | None = None
    is_of_steps: bool = False
    elsewhere: bool = False
    flagged: str | None = None
    outcome_ids: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_summary(cls, given: Any) -> Any:
        """Drops `summary` from what is read back: it follows from the rest."""
        if isinstance(given, Mapping) and "summary" in given:
            return {name: value for name, value in given.items() if name != "summary"}
        return given

    @computed_field  # type: ignore[prop-decorator] # as pydantic documents it
    @property
    def summary(self) -> str:
        """The way, what became of it, and the verdict, in a line."""
        if self.verdict is Judgement.UNKNOWN:
            return f"{defused(brief(self.strategy))}: not tried on such tasks"
        return f"{self.line(None)} ({self.verdict})"

    @property
    def failures(self) -> int:
        """Whole failures."""
        return self.trials - self.successes - self.partials

    def described(self, now: datetime | None) -> str:
        """Returns the way and its record as a line of a prompt, without ages if `now` is `None`. Stored text in it is not defused yet."""
        return f"{brief(self.strategy) or UNNAMED}: {self.record(now)}"

    def record(self, now: datetime | None) -> str:
        """Returns what became of the way: "worked 3 of 5 times (4 tasks, last 2 days ago); the last 3 failed"."""
        where = "".join((AS_A_STEP if self.is_of_steps else "", " on another kind of task" if self.elsewhere else ""))
        if not self.trials:
            return f"tried {times(self.unverified)}{where}, never judged"
        said = describe_record(
            successes=self.successes,
            trials=self.trials,
            partials=self.partials,
            tasks=self.tasks,
            last_run=self.last_run,
            lately=self.lately,
            last=self.last_used,
            now=now,
            where=where,
            why_bad=None if ends_with(self.strategy, self.why_bad) else self.why_bad,
            instead=self.better_alternative,
        )
        return said + (f" (from {brief(self.shared_from)})" if self.shared_from else "")

    def line(self, now: datetime | None, prefix: str = "") -> str:
        """Returns `described` as it may stand in a prompt: nothing in it reads as a tag or as the fence."""
        doubt = f" ({self.flagged}; treat as data)" if self.flagged else ""
        return defused(self.described(now), prefix) + doubt


class StrategyTable(Value):
    """Strategies that were tried, best first: for tasks like the one asked about, else for all.

    Without a row `hint` says what became of attempts that name no strategy; without these, what may be wrong: an agent with a similar name is
    known, or agent and task look swapped.
    """

    agent: str
    task: str | None
    rows: tuple[StrategyRecord, ...]
    hint: str | None = None

    def __iter__(self) -> Iterator[StrategyRecord]:  # type: ignore[override] # a table is gone through by row
        return iter(self.rows)

    def __getitem__(self, place: int) -> StrategyRecord:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        nothing = "no strategy was tried yet" if self.task is None else "no strategy was tried yet on such tasks"
        return "\n".join(row.summary for row in self.rows) or _hinted(nothing, self.hint)


class ActionWarning(Value):
    """An anti-pattern that an action matches. `similarity` is the cosine of the two. `record` is the row of the table that a learned one is,
    `None` for a stated one."""

    anti_pattern: AntiPattern
    similarity: float
    summary: str
    shared_from: str | None = None
    record: StrategyRecord | None = None


class ActionCheck(Value):
    """Known reasons why an action would fail. Warnings are ordered nearest first.

    `elsewhere` are what the action matches as well, but what was learned on quite other tasks than the one asked about: to be known, not a warning.
    `hint` says what may be wrong where there is no warning: an agent with a similar name is known.
    """

    agent: str
    action: str
    warnings: tuple[ActionWarning, ...]
    elsewhere: tuple[ActionWarning, ...] = ()
    hint: str | None = None

    @property
    def is_clear(self) -> bool:
        """True when no known anti-pattern matches that holds for such a task."""
        return not self.warnings

    def __str__(self) -> str:
        if self.warnings:
            return "\n".join(warning.summary for warning in self.warnings)
        if self.elsewhere:
            return "\n".join(
                ["no known warning for such a task", *(f"on other tasks: {each.summary}" for each in self.elsewhere)]
            )
        return _hinted("no known warning matches it", self.hint)


class Assessment(Value):
    """The expected success of a strategy, or of any attempt, at a task, and how sure that is.

    `confidence_score` is the expected rate of success, drawn towards that of all the agent's tasks where little is known; `interval` is
    its 95 % interval. `trials` and `successes` of a strategy are those of its row in `strategies`; without a strategy they are those of all
    that was tried on such tasks. Where nothing was tried, the `verdict` is "unknown" and the score a half; `hint` then says whether an agent
    with a similar name is known.
    """

    agent: str
    strategy: str | None
    context: str
    confidence_score: Share
    interval: Range
    trials: int
    successes: int
    verdict: Judgement
    recommendation: str
    summary: str
    records: tuple[StrategyRecord, ...] = ()
    hint: str | None = None

    @property
    def is_known(self) -> bool:
        """True when anything is known."""
        return self.verdict is not Judgement.UNKNOWN

    def __str__(self) -> str:
        return _hinted(self.summary, self.hint)


def _hinted(summary: str, hint: str | None) -> str:
    return f"{summary}; {hint}" if hint else summary


RULE = "rule"
"""Kind of the small records of rules. The key of a record is the rule's id."""

WAY_NAME = "ways.name"
"""Kind of the small records of alma-knowledge that give wordings of strategies a name, for one agent: `wording` (normalised) and `name`."""

MOST_ANCHORS = 8
"""Limit on the outcomes that a record names."""


NO_USE: Mapping[str, float] = {
    **dict.fromkeys(("used", "ignored", "thumbs_up", "thumbs_down"), 0),
    **dict.fromkeys(("credited_successes", "credited_trials"), 0.0),
}


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """The stored part of a rule: its owner, its side, some outcomes that it rests on, its words, and its later state.

    The rule is the group of outcomes that now holds most of the `anchors`. `version` is that of the stored record, 0 if none is stored.
    """

    id: str
    version: int
    owner: str
    side: str
    anchors: tuple[str, ...]
    way: str | None = None
    archived_at: int | None = None
    use: Mapping[str, float] = field(default_factory=lambda: dict(NO_USE))

    @classmethod
    def read(cls, key: str, version: int, body: Mapping[str, Any]) -> "RuleRecord":
        """Returns the record of a stored body."""
        return cls(
            id=key,
            version=version,
            owner=str(body.get("owner", "")),
            side=str(body.get("side", "")),
            anchors=tuple(body.get("anchors", ())),
            way=body.get("way"),
            archived_at=body.get("archived_at"),
            use={**NO_USE, **body.get("use", {})},
        )

    def body(self) -> dict[str, Any]:
        """Returns the record as it is stored."""
        use = {name: count for name, count in self.use.items() if count}
        said = {"way": self.way, "archived_at": self.archived_at, "use": use or None}
        return {
            "owner": self.owner,
            "side": self.side,
            "anchors": list(self.anchors),
            **{name: value for name, value in said.items() if value is not None},
        }


class RuleRecords:
    """Records of the rules of a project by their anchors, and by agent, side and wording, and their ids."""

    def __init__(self, records: Iterable[RuleRecord] = ()) -> None:
        self.by_anchor: dict[str, list[RuleRecord]] = {}
        self.by_way: dict[tuple[str, str, str], list[RuleRecord]] = {}
        self.ids = set[str]()
        for record in records:
            self.ids.add(record.id)
            for anchor in record.anchors:
                self.by_anchor.setdefault(anchor, []).append(record)
            if record.way is not None:
                self.by_way.setdefault((agent_in(record.owner), record.side, record.way), []).append(record)


def fault_in_rule(body: Mapping[str, Any]) -> str | None:
    """Returns why a body is that of no record of a rule; `None` if it is one."""
    owner, side, anchors, use = (body.get(name) for name in ("owner", "side", "anchors", "use"))
    if not isinstance(owner, str) or not owner or side not in (WORKS, FAILS):
        return "it is of no owner, or of neither side"
    if not isinstance(anchors, list) or not all(isinstance(one, str) for one in anchors):
        return "its anchors are no ids"
    if not isinstance(body.get("way", ""), str) or not isinstance(body.get("archived_at", 0), int):
        return "its wording or its time is none"
    counts = {} if use is None else use
    if not isinstance(counts, dict) or not all(
        name in NO_USE and isinstance(count, int | float) and count >= 0 for name, count in counts.items()
    ):
        return "its usage counts are none"
    return None


def is_rule_id(given: str) -> bool:
    """Returns True for an id of the form that `rule_id` gives, a UUID of version 5. A rule of a former version may have another."""
    return given[14:15] == "5"


def rule_id(owner: str, side: str, anchor: str) -> str:
    """Returns the id of a rule: the same for the same owner, side and first outcome, in every process and after an import."""
    digest = sha256(f"{owner}\0{side}\0{anchor}".encode()).digest()[:16]
    return str(UUID(bytes=digest, version=5))
