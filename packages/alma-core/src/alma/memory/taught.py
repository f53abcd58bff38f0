"""What a project has learned, at a glance: strategies by class, rules as they came and went, and how the attempts went."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from alma.errors import MemoryNotFoundError
from alma.evidence import Tally
from alma.learning.ledger import MOST_CLASSES
from alma.learning.records import ranged
from alma.memory.history import history
from alma.memory.nearby import NearClass, place_of
from alma.memory.room import Room
from alma.memory.strategies import class_of, records, surest_first, type_of
from alma.protocols import Candidate
from alma.types.evidence import STEP, AgentClass
from alma.types.history import HistoryEntry
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.overview import ClassView, DayCount, LearningView, RunsView

MOST_SHOWN_CLASSES = 8
MOST_SHOWN_STRATEGIES = 6
MOST_RULES = 200
MOST_RUNS = 2_000
"""So many of the newest attempts are looked at."""

RUNS_A_GROUP = 10
MOST_GROUPS = 30

_EVENTS = {"made": "formed", "archived": "demoted", "brought back": "brought back"}


def taught(room: Room) -> LearningView:
    """What was learned, of all agents."""
    agents = sorted({partition.owner for partition in room.project.partitions().values() if not partition.is_user})
    sizes = [(trials, place) for place, trials in _classes(room, agents).items()]
    largest = sorted(sizes, key=lambda sized: (-sized[0], sized[1]))[:MOST_SHOWN_CLASSES]
    return LearningView(
        classes=tuple(view for _, place in largest if (view := _class(room, *place))),
        all_classes=len(sizes),
        rules=_rules(room, agents),
        runs=_runs(room),
    )


def _classes(room: Room, agents: Iterable[str]) -> dict[AgentClass, float]:
    """The newest classes of the agents' tasks, those of single steps left out, with how often anything was tried and judged."""
    sizes: dict[AgentClass, float] = {}
    for stored in chain.from_iterable(room.project.learned.classes(agents, most=MOST_CLASSES).values()):
        if not stored.evidence.task_class.startswith(STEP):  # of a class there may be the whole and its first strategy
            place = place_of(stored)
            sizes[place] = max(sizes.get(place, 0.0), stored.evidence.lifetime.trials)
    return sizes


def _class(room: Room, agent: str, task_class: str) -> ClassView | None:
    """What was tried in a class; `None` if no strategy was ever named."""
    whole, tried = class_of(room, NearClass(agent, task_class, 1.0))
    rows = records(whole, tried, reader=agent, similarity=None)
    if whole is None or not rows:
        return None
    shown = sorted(rows, key=lambda row: (-row.trials, row.strategy))[:MOST_SHOWN_STRATEGIES]
    return ClassView(
        agent=agent,
        task=whole.task or "",
        task_type=type_of(task_class),
        trials=whole.lifetime.trials,
        successes=whole.lifetime.successes,
        strategies=len(rows),
        rows=tuple(sorted(shown, key=surest_first)),
    )


def _rules(room: Room, agents: Sequence[str]) -> tuple[DayCount, ...]:
    behind = [stored.evidence for agent in agents for stored in room.project.learned.with_rules(agent)]
    newest = sorted(behind, key=lambda seen: (-seen.observed_at, seen.id))[:MOST_RULES]
    ids = [rule for seen in newest for rule in (seen.heuristic, seen.anti_pattern) if rule]
    counts = Counter((entry.at.date(), _EVENTS[entry.what]) for rule in ids for entry in _changes(room, rule))
    return tuple(DayCount(day=day, name=name, count=count) for (day, name), count in sorted(counts.items()))


def _changes(room: Room, rule: str) -> Iterator[HistoryEntry]:
    """When a rule was made, and when its evidence had it go or come back; not what was forgotten or undone."""
    try:
        entries = history(room, rule)
    except MemoryNotFoundError:  # it was purged
        return
    yield from (entry for entry in entries if entry.what == "made" or (entry.what in _EVENTS and "metadata" in entry.changed))


def _runs(room: Room) -> tuple[RunsView, ...]:
    """The newest attempts, oldest first, in groups."""
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
