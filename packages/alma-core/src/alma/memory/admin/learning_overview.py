"""Summary of what a project has learned: strategies by class, rules as they were formed and demoted, and the results of attempts."""

import math
from collections import Counter
from collections.abc import Sequence

from alma.evidence import Tally
from alma.learning.consulting import consulted
from alma.learning.experience import Question
from alma.learning.ledger import Entry, Side
from alma.learning.pooling import LEAST_COSINE, NEAR
from alma.learning.records import RecordMaker, ranged
from alma.learning.standings import Standings
from alma.memory.admin.history import histories
from alma.memory.recall.strategies import shown_rows
from alma.memory.room import Room
from alma.memory.scopes import needed_by
from alma.protocols import Candidate
from alma.types.evidence import STEP, bare_place, type_of
from alma.types.history import HistoryEntry
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.overview import ClassView, DayCount, LearningView, RunsView

MOST_SHOWN_CLASSES = 8
MOST_SHOWN_STRATEGIES = 6
MOST_RULES = 200
"""Number of rules with the newest evidence whose changes are counted."""

MOST_RUNS = 2_000
"""Number of newest outcomes that are considered as attempts."""

RUNS_A_GROUP = 10
MOST_GROUPS = 30

_EVENTS = {"made": "formed", "archived": "demoted", "brought back": "brought back"}


def taught(room: Room) -> LearningView:
    """Returns what was learned, of all agents."""
    agents = sorted({partition.agent for partition in room.project.partitions().values() if partition.agent is not None})
    classes, number = _classes(room, agents)
    rules, older_rules = _rules(room, agents)
    return LearningView(
        classes=tuple(classes),
        all_classes=number,
        rules=rules,
        older_rules=older_rules,
        runs=_runs(room),
        older_outcomes=max(0, _outcomes(room).total() - MOST_RUNS),
    )


def _classes(room: Room, agents: Sequence[str]) -> tuple[list[ClassView], int]:
    """Returns the task types of agents, and their tasks without a type, that were tried most, and the number of all.

    A class is consulted while the evidence of its agent is at hand, and only if none of the agents before had as many that are larger.
    """
    held = _outcomes(room)
    largest: list[tuple[float, str, str]] = []
    views: dict[tuple[str, str], ClassView] = {}
    number = 0
    for agent in sorted(agents, key=lambda agent: (-held[agent], agent)):
        with room.book((agent,)) as book:
            side = book.side(is_of_steps=False)
            sizes, last = _sizes(side)
            number += len(sizes)
            largest = sorted([*largest, *((-size, agent, place) for place, size in sizes.items())])[:MOST_SHOWN_CLASSES]
            for _, owner, place in largest:
                if owner == agent:
                    views[owner, place] = _view(room, side, agent, last[place])
    shown = [views[owner, place] for _, owner, place in largest]
    return sorted(shown, key=lambda view: (-view.trials, view.agent, view.task)), number


def _sizes(side: Side) -> tuple[dict[str, float], dict[str, Entry]]:
    """Returns how often each task type, and each task without one, was tried, and one of its cells."""
    sizes: dict[str, float] = {}
    last: dict[str, Entry] = {}
    for entry in side.held:
        if entry.evidence.names_strategy:
            place = type_of(entry.evidence.task_class) or bare_place(entry.evidence.task_class)
            sizes[place] = sizes.get(place, 0.0) + entry.evidence.lifetime.trials
            last[place] = entry
    return sizes, last


def _view(room: Room, side: Side, agent: str, entry: Entry) -> ClassView:
    """Returns what was tried on tasks like that of a cell; what was tried on less similar ones alone is part of other views."""
    question = side.question_of(entry)
    known = consulted(side, Question("", question.vector * 0, question.task_type) if question.task_type else question)
    maker = RecordMaker(known, Standings(known, needed_by(room, agent)), reader=agent)
    rows = [row for row in map(maker.record, shown_rows(known)) if row.tasks or not row.trials]
    is_near = (known.task_weights >= NEAR) & (known.task_cosines >= LEAST_COSINE)
    near = [found.evidence.lifetime for found in side.held if is_near[side.task_of(found)]]
    shown = sorted(rows, key=lambda row: (-row.trials, row.strategy))[:MOST_SHOWN_STRATEGIES]
    return ClassView(
        agent=agent,
        task=entry.evidence.task or "",
        task_type=question.task_type,
        trials=sum(counts.trials for counts in near),
        successes=sum(counts.successes for counts in near),
        strategies=len(rows),
        rows=tuple(sorted(shown, key=lambda row: (-row.expected, row.strategy))),
    )


def _rules(room: Room, agents: Sequence[str]) -> tuple[tuple[DayCount, ...], int]:
    """Returns how often the newest rules were formed, demoted and brought back per day, and the number of the other rules."""
    behind = [stored.evidence for agent in agents for stored in room.project.learned.with_rules(agent)]
    behind.sort(key=lambda seen: (-seen.observed_at, seen.id))
    ids = [rule for seen in behind for rule in (seen.heuristic, seen.anti_pattern) if rule]
    changes = histories(room, ids[:MOST_RULES])
    counts = Counter(
        (entry.at.date(), _EVENTS[entry.what]) for entries in changes.values() for entry in entries if _is_event(entry)
    )
    days = tuple(DayCount(day=day, name=name, count=count) for (day, name), count in sorted(counts.items()))
    return days, max(0, len(ids) - MOST_RULES)


def _is_event(entry: HistoryEntry) -> bool:
    """True where a rule was made, or its evidence demoted or restored it; not where it was forgotten or undone."""
    return entry.what == "made" or (entry.what in _EVENTS and "metadata" in entry.changed)


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
    behind = room.project.learned.behind(rows)
    steps = {row for row, stored in behind.items() if stored.evidence.task_class.startswith(STEP)}
    judged = [one for one in room.project.candidates(rows) if one.memory not in steps and one.trials]
    judged.sort(key=lambda one: (one.seen_at, one.content_hash))
    size = max(RUNS_A_GROUP, math.ceil(len(judged) / MOST_GROUPS))
    return tuple(_group(judged[start : start + size]) for start in range(0, len(judged), size))


def _group(runs: Sequence[Candidate]) -> RunsView:
    counts = Tally(math.fsum(run.successes or 0.0 for run in runs), float(len(runs)))
    return RunsView(
        first=from_micros(runs[0].seen_at),
        last=from_micros(runs[-1].seen_at),
        trials=len(runs),
        successes=counts.successes,
        interval=ranged(counts.interval()),
    )
