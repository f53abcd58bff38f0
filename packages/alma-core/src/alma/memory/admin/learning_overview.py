"""Summary of what a project has learned: ways by kind of task, rules by the day they were formed, and the results of attempts."""

import math
from collections import Counter
from collections.abc import Sequence

from alma.evidence import bound_rate
from alma.memory.recall.ways import records_in
from alma.memory.room import Room
from alma.memory.rules import Records, Rule, owners_with_outcomes, rules_of
from alma.memory.scopes import readable
from alma.protocols import Candidate
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome
from alma.types.overview import ClassView, DayCount, LearningView, RunsView
from alma.types.strategies import Range
from alma_learning import Table

MOST_SHOWN_CLASSES = 8
MOST_SHOWN_STRATEGIES = 6
MOST_RULES = 200
"""Number of rules whose days are counted: those with the newest outcomes."""

MOST_RUNS = 2_000
"""Number of newest outcomes that are considered as attempts."""

RUNS_A_GROUP = 10
MOST_GROUPS = 30


def taught(room: Room) -> LearningView:
    """Returns what was learned, of all agents."""
    classes, number = _classes(room)
    rules, older_rules = _rules(room)
    return LearningView(
        classes=tuple(classes),
        all_classes=number,
        rules=rules,
        older_rules=older_rules,
        runs=_runs(room),
        older_outcomes=max(0, _outcomes(room).total() - MOST_RUNS),
    )


def _classes(room: Room) -> tuple[list[ClassView], int]:
    """Returns the kinds of task of agents that were tried most, and the number of all."""
    views: list[ClassView] = []
    number = 0
    for agent in sorted({agent for agent, _ in owners_with_outcomes(room)}):
        scope = readable(room, agent=agent, user_id=None, include_shared=False)
        with room.projections.of(scope, reader=agent, user=None, is_shared=False) as view:
            tables = [table for table in view.tried.tables() if table.rows]
            number += len(tables)
            tables.sort(key=lambda table: -table.trials)
            records = Records(view)
            views += [_view(table, records, agent) for table in tables[:MOST_SHOWN_CLASSES]]
    views.sort(key=lambda view: (-view.trials, view.agent, view.task))
    return views[:MOST_SHOWN_CLASSES], number


def _view(table: Table, records: Records, agent: str) -> ClassView:
    rows = list(records_in(table, records, reader=agent, similarity=False))
    shown = sorted(rows, key=lambda row: (-row.trials, row.strategy))[:MOST_SHOWN_STRATEGIES]
    return ClassView(
        agent=agent,
        task=next((row.task for row in rows if row.task), ""),
        task_type=table.task_type,
        trials=table.trials,
        successes=table.successes,
        partials=table.partials,
        strategies=len(rows),
        rows=tuple(sorted(shown, key=lambda row: (-row.expected, row.strategy))),
    )


def _rules(room: Room) -> tuple[tuple[DayCount, ...], int]:
    """Returns the number of rules formed on each day, of those with the newest outcomes, and the number of the others."""
    found = {rule.id: rule for agent, user in owners_with_outcomes(room) for rule in rules_of(room, agent, user)}
    newest = sorted(found.values(), key=lambda rule: (-rule.row.last_at, rule.id))
    last = {_last_needed(rule): rule for rule in newest[:MOST_RULES]}
    outcomes = [one for one in room.project.named(last).values() if isinstance(one, Outcome)]
    counts = Counter(one.timestamp.date() for one in outcomes)
    days = tuple(DayCount(day=day, name="formed", count=count) for day, count in sorted(counts.items()))
    return days, max(0, len(newest) - MOST_RULES)


def _last_needed(rule: Rule) -> str:
    """The outcome that made a rule: the last of those that it takes."""
    needed = 3 if rule.record.side == "works" else 2
    return rule.row.anchors[min(needed, len(rule.row.anchors)) - 1]


def _outcomes(room: Room) -> Counter[str]:
    """Returns the number of outcomes of each agent."""
    held = Counter[str]()
    for one in room.project.counts():
        if one.partition.kind == MemoryType.OUTCOME and one.partition.agent is not None:
            held[one.partition.agent] += one.count
    return held


def _runs(room: Room) -> tuple[RunsView, ...]:
    """Returns the newest attempts, oldest first, in groups."""
    outcomes = [row for row, partition in room.project.partitions().items() if partition.kind == MemoryType.OUTCOME]
    rows = room.project.listed(outcomes, since=None, limit=MOST_RUNS, newest_first=True)
    steps = {
        row
        for row, one in room.project.memories(rows).items()
        if isinstance(one, Outcome) and isinstance(one.metadata.get("step"), int)
    }
    judged = [one for one in room.project.candidates(rows) if one.memory not in steps and one.trials]
    judged.sort(key=lambda one: (one.seen_at, one.content_hash))
    size = max(RUNS_A_GROUP, math.ceil(len(judged) / MOST_GROUPS))
    return tuple(_group(judged[start : start + size]) for start in range(0, len(judged), size))


def _group(runs: Sequence[Candidate]) -> RunsView:
    successes = math.fsum(run.successes or 0.0 for run in runs)
    lower, upper = bound_rate(successes, len(runs))
    return RunsView(
        first=from_micros(runs[0].seen_at),
        last=from_micros(runs[-1].seen_at),
        trials=len(runs),
        successes=successes,
        interval=Range(lower=lower, upper=upper),
    )
