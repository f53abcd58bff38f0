"""Summary of what a project has learned: strategies by class, rules as they were formed and demoted, and the results of attempts."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from alma.errors import MemoryNotFoundError
from alma.evidence import Tally
from alma.learning.consulting import consulted
from alma.learning.experience import Question
from alma.learning.ledger import Entry, Side
from alma.learning.pooling import NEAR
from alma.learning.records import RecordMaker, ranged
from alma.learning.standings import Standings
from alma.memory.admin.history import history
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
MOST_RUNS = 2_000
"""Number of newest outcomes that are considered as attempts."""

RUNS_A_GROUP = 10
MOST_GROUPS = 30

_EVENTS = {"made": "formed", "archived": "demoted", "brought back": "brought back"}


def taught(room: Room) -> LearningView:
    """Returns what was learned, of all agents."""
    agents = sorted({partition.agent for partition in room.project.partitions().values() if partition.agent is not None})
    found = [_views(room, agent) for agent in agents]
    views = sorted((view for some, _ in found for view in some), key=lambda view: (-view.trials, view.agent, view.task))
    return LearningView(
        classes=tuple(views[:MOST_SHOWN_CLASSES]),
        all_classes=sum(count for _, count in found),
        rules=_rules(room, agents),
        runs=_runs(room),
        older_outcomes=max(0, _outcomes(room) - MOST_RUNS),
    )


def _views(room: Room, agent: str) -> tuple[list[ClassView], int]:
    """Returns the task types of an agent, and its tasks without a type, that were tried most, and the number of both."""
    with room.book((agent,)) as book:
        side = book.side(is_of_steps=False)
        sizes: dict[str, float] = {}
        last: dict[str, Entry] = {}
        for entry in side.held:
            if entry.evidence.names_strategy:
                place = type_of(entry.evidence.task_class) or bare_place(entry.evidence.task_class)
                sizes[place] = sizes.get(place, 0.0) + entry.evidence.lifetime.trials
                last[place] = entry
        largest = sorted(sizes, key=lambda place: (-sizes[place], place))[:MOST_SHOWN_CLASSES]
        return [_view(room, side, agent, last[place]) for place in largest], len(sizes)


def _view(room: Room, side: Side, agent: str, entry: Entry) -> ClassView:
    """Returns what was tried on tasks like that of a cell."""
    question = side.question_of(entry)
    known = consulted(side, Question("", question.vector * 0, question.task_type) if question.task_type else question)
    maker = RecordMaker(known, Standings(known, needed_by(room, agent)), reader=agent)
    rows = [maker.record(row) for row in shown_rows(known)]
    near = [found.evidence.lifetime for found in side.held if known.task_weights[side.task_of(found)] >= NEAR]
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


def _rules(room: Room, agents: Sequence[str]) -> tuple[DayCount, ...]:
    behind = [stored.evidence for agent in agents for stored in room.project.learned.with_rules(agent)]
    newest = sorted(behind, key=lambda seen: (-seen.observed_at, seen.id))[:MOST_RULES]
    ids = [rule for seen in newest for rule in (seen.heuristic, seen.anti_pattern) if rule]
    counts = Counter((entry.at.date(), _EVENTS[entry.what]) for rule in ids for entry in _changes(room, rule))
    return tuple(DayCount(day=day, name=name, count=count) for (day, name), count in sorted(counts.items()))


def _changes(room: Room, rule: str) -> Iterator[HistoryEntry]:
    """Yields when a rule was made, and when its evidence demoted or restored it; not what was forgotten or undone."""
    try:
        entries = history(room, rule)
    except MemoryNotFoundError:  # it was purged
        return
    yield from (entry for entry in entries if entry.what == "made" or (entry.what in _EVENTS and "metadata" in entry.changed))


def _outcomes(room: Room) -> int:
    return sum(one.count for one in room.project.counts() if one.partition.kind == MemoryType.OUTCOME)


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
