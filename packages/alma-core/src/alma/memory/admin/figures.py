"""Figures and lists of a project: statistics, its memories by time, and the summary that `alma report` shows. Writes nothing."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import date, datetime

import numpy as np

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.admin.forgetting_policies import owner_label
from alma.memory.episodes import records as kept
from alma.memory.kinds import checked_kind
from alma.memory.recall.search import NEVER_COMMON
from alma.memory.recall.ways import records_in
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, Records, Rule, as_memory, each_rule, owners_with_outcomes
from alma.protocols import Candidate
from alma.storage.relational.text_index import stems
from alma.text import spaced, spaced_for_search
from alma.text import words as split_words
from alma.types.episodes import EpisodeRecord
from alma.types.identity import Access, Partition, access, agent_in, from_micros, to_micros, user_in
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome
from alma.types.overview import (
    ClassView,
    DayCount,
    DayView,
    JournalLine,
    KnownMemory,
    LearningView,
    Overview,
    OwnerView,
    RunsView,
    StoreView,
    Timeline,
    UsageView,
)
from alma.types.reports import Stats
from alma.types.strategies import WORKS, Range
from alma_learning import Table, interval

LARGEST_LIST = 100_000
LARGEST_OVERVIEW = 1_000
NO_LIMIT = 1 << 62

MOST_SHOWN_CLASSES = 8
MOST_SHOWN_STRATEGIES = 6
MOST_RULES = 200
"""Number of rules whose days are counted: those with the newest outcomes."""

MOST_RUNS = 2_000
"""Number of newest outcomes that are considered as attempts."""

RUNS_A_GROUP = 10
MOST_GROUPS = 30


def get_stats(room: Room, agent: str | None = None, *, users: Collection[str] | None = None) -> Stats:
    """Returns the content of the project, or of one agent in it, in numbers. With `users`, only what was recorded for no user or for one of
    these; the number of journal records and the size are those of all."""
    owner = None if agent is None else args.checked_name(agent, "agent")
    shown = _checked_users(users)
    counts = [count for count in room.project.counts() if _is_counted(count.partition, owner, shown)]
    rules = _counted_rules(room, owner, shown)
    held = [(owner_label(count.partition), count.partition.kind, count.count) for count in counts]
    held += [(agent_in(rule.record.owner), rule.kind.value, 1) for rule in rules]
    by_kind, by_agent = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for name, kind, number in held:
        by_kind[kind] += number
        by_agent[name][kind] += number
    return Stats(
        project_id=room.name,
        total=by_kind.total(),
        learned_rules=len(rules),
        by_kind=dict(sorted(by_kind.items())),
        by_agent={name: dict(of_agent) for name, of_agent in sorted(by_agent.items())},
        journal_records=room.project.head(),
        database_bytes=room.store.storage.size(),
        embedder=room.store.texts.fingerprint.model,
        oldest=min((count.oldest for count in counts), default=None),
        newest=max((count.newest for count in counts), default=None),
    )


def timeline(room: Room, agent: str | None = None, *, users: Collection[str] | None = None) -> Timeline:
    """Returns what was made on each day (UTC) and how it went: of all agents, or of one. With `users`, only what was recorded for no user or for
    one of these. A memory is of the day of its event, where that was earlier than it was stored; a learned rule of that of its first outcome."""
    owner = None if agent is None else args.checked_name(agent, "agent")
    shown = _checked_users(users)
    by_day, results = defaultdict[date, Counter[str]](Counter), defaultdict[date, list[float]](lambda: [0.0, 0.0])
    for one in room.project.growth():
        if _is_counted(one.partition, owner, shown):
            by_day[one.day][one.partition.kind] += one.count
            if one.partition.kind == MemoryType.OUTCOME:
                results[one.day][0] += one.trials
                results[one.day][1] += one.successes
    rules = _counted_rules(room, owner, shown)
    for rule in rules:
        by_day[from_micros(rule.row.first_at).date()][rule.kind.value] += 1
    formed = {one.day: one.count for one in _formed(room, rules)}
    return Timeline(days=tuple(_day(day, by_day[day], results[day], formed.get(day, 0)) for day in sorted({*by_day, *formed})))


def _day(day: date, by_kind: Counter[str], results: Sequence[float], formed: int) -> DayView:
    judged, successes = results
    lower, upper = interval(successes, judged) if judged else (0.0, 1.0)
    return DayView(
        day=day,
        by_kind=dict(sorted(by_kind.items())),
        judged=round(judged),
        successes=successes,
        interval=Range(lower=lower, upper=upper) if judged else None,
        formed=formed,
    )


def _checked_users(users: Collection[str] | None) -> Container[str | None] | None:
    return None if users is None else {None, *(args.checked_name(user, "users") for user in args.checked_items(users, "users"))}


def _is_counted(partition: Partition, agent: str | None, users: Container[str | None] | None) -> bool:
    return agent in (None, partition.agent) and (users is None or partition.user_id in users)


def _counted_rules(room: Room, agent: str | None, users: Container[str | None] | None) -> list[Rule]:
    return [rule for rule in each_rule(room, agent=agent) if users is None or user_in(rule.record.owner) in users]


def list_memories(
    room: Room,
    kind: str | None = None,
    agent: str | None = None,
    user_id: str | None = None,
    *,
    since: datetime | None = None,
    words: str | None = None,
    limit: int = 100,
    newest_first: bool = True,
) -> list[AnyMemory]:
    """Returns memories by the time they were made: all of the project, or those of one kind, of one agent, of one user, made at or
    after `since`. A learned rule is as old as the first outcome behind it.

    With `words`, only memories that contain each word of that text, whatever its ending. This is for who administers the store: no scope and
    no wall between users applies, so without `user_id` the memories of all users are listed. `retrieve` finds what matters for a task and may be
    read. Forgotten memories are not listed.
    """
    wanted = None if kind is None else checked_kind(room, kind)
    owner = None if agent is None else args.checked_name(agent, "agent")
    user = args.optional_name(user_id, "user_id")
    moment = args.checked_time(since, "since")
    most = args.checked_count(limit, "limit", largest=LARGEST_LIST)
    sought = _checked_words(words)
    partitions = [
        row for row, one in room.project.partitions().items() if wanted in (None, one.kind) and _is_of(one, owner, user)
    ]
    rows = room.project.listed(
        partitions,
        since=None if moment is None else to_micros(moment),
        limit=NO_LIMIT if sought else most,
        newest_first=newest_first,
    )
    if sought:
        holding = _find_containing(room, sought, partitions)
        rows = [row for row in rows if row in holding][:most]
    found = room.project.memories(rows)
    listed: list[AnyMemory] = [found[row] for row in rows if row in found]
    if wanted is None or wanted in KIND_OF_SIDE.values():
        rules = (as_memory(room, rule) for rule in each_rule(room, agent=owner, user=user) if wanted in (None, rule.kind))
        stated = {stem for word in sought for stem in stems(word)}
        listed += [
            memory
            for memory in rules
            if (moment is None or memory.created_at >= moment) and (not stated or stated <= _stems_of(memory))
        ]
        listed.sort(key=lambda memory: memory.created_at, reverse=newest_first)
    return listed[:most]


def _checked_words(text: object) -> list[str]:
    """Returns the words that memories are listed by, none for `None`. `ValidationError` for a text without a word."""
    if text is None:
        return []
    if found := split_words(spaced(args.checked_text(text, "words"))):
        return found
    raise ValidationError("words contains no word: letters or digits are needed")


def _find_containing(room: Room, words: Sequence[str], partitions: Sequence[int]) -> set[int]:
    """Returns the rows of the memories of these partitions that contain all of the words."""
    lists = room.project.text_lists(words, partitions=partitions, common=NEVER_COMMON)
    held = np.bincount(lists.places, minlength=len(lists.memories))
    return set(lists.memories[held == len(lists.sizes)].tolist())


def _stems_of(memory: AnyMemory) -> set[str]:
    return set(stems(spaced_for_search(f"{memory.text}\n{memory.keywords}")))


def _is_of(partition: Partition, owner: str | None, user: str | None) -> bool:
    """Returns True for a partition of an agent, of a user, or of an agent for a user or for none, as far as they are given."""
    if owner is not None and partition.agent is not None:
        return partition.agent == owner and (user is None or partition.user_id in (None, user))
    return (owner is None and user is None) or (user is not None and partition.user_id == user)


def overview(room: Room, *, top: int = 20, recent: int = 20, verify: bool = True) -> Overview:
    """Returns a summary of the project, as `alma report` shows it: growth by kind, the `top` memories by evidence, agents and what
    they share, the `recent` episodes and journal records, usage, and the state of the store (the slow part: `verify=False` leaves it
    out)."""
    most = args.checked_count(top, "top", largest=LARGEST_OVERVIEW)
    newest = args.checked_count(recent, "recent", largest=LARGEST_OVERVIEW)
    attempts, storage = kept.recent(room, limit=newest), room.store.storage
    return Overview(
        project_id=room.name,
        made_at=from_micros(room.now()),
        stats=get_stats(room),
        growth=_growth(room),
        activity=tuple(DayCount(day=one.day, name=one.operation, count=one.count) for one in room.project.activity()),
        memories=_memories(room, most, attempts),
        owners=tuple(_owners(room)),
        journal=tuple(JournalLine(**asdict(entry)) for entry in room.project.newest_records(newest)),
        episodes=tuple(attempts),
        usage=UsageView(**asdict(room.project.usage_totals())),
        store=StoreView(
            embedder=storage.fingerprint,
            database_bytes=storage.size(),
            verified=storage.verify() if verify else None,
            **{name: int(value) for name, value in asdict(room.project.sizes()).items()},
        ),
        learning=_learning(room),
    )


def _growth(room: Room) -> tuple[DayCount, ...]:
    counts = Counter[tuple[date, str]]()
    for one in room.project.growth():
        counts[one.day, one.partition.kind] += one.count
    return tuple(DayCount(day=day, name=kind, count=count) for (day, kind), count in sorted(counts.items()))


def _memories(room: Room, most: int, attempts: Sequence[EpisodeRecord]) -> tuple[KnownMemory, ...]:
    rows = room.project.telling(most)
    stored = room.project.memories(rows)
    counts = {candidate.memory: candidate for candidate in room.project.candidates(rows)}
    shown = Counter(exposure.memory_id for attempt in attempts for exposure in attempt.shown)
    names = ("used", "ignored", "thumbs_up", "thumbs_down")
    return tuple(
        KnownMemory(memory=stored[row], shown=shown[stored[row].id], **{name: getattr(counts[row], name) for name in names})
        for row in rows
        if row in stored and row in counts
    )


def _owners(room: Room) -> Iterator[OwnerView]:
    """Yields the agents and users with what they have, and whom an agent reads by which rule."""
    held: dict[tuple[bool, str], Counter[str]] = {(False, name): Counter() for name in room.store.agents}
    for count in room.project.counts():
        one = count.partition
        owner = (True, one.owner) if one.agent is None else (False, one.agent)
        held.setdefault(owner, Counter())[one.kind] += count.count
    agents = sorted(name for is_user, name in held if not is_user)
    for (is_user, name), by_kind in sorted(held.items()):
        ways = {} if is_user else {other: access(name, other, room.store.agents) for other in agents if other != name}
        yield OwnerView(
            name=name,
            is_user=is_user,
            by_kind=dict(sorted(by_kind.items())),
            rules=None if is_user else room.store.agents.get(name),
            reads={other: way for other, way in ways.items() if way.is_open},
        )


def _learning(room: Room) -> LearningView:
    """Returns what was learned, of all agents: ways by kind of task, rules by the day they were formed, and the results of attempts."""
    classes, all_classes = _classes(room)
    rules = list(each_rule(room))
    outcomes = Counter[Access]()
    for held in room.project.counts():
        if held.partition.kind == MemoryType.OUTCOME and (agent := held.partition.agent) is not None:
            outcomes[room.scopes.access_to(held.partition, agent=agent, user_id=None)] += held.count
    return LearningView(
        classes=tuple(classes),
        all_classes=all_classes,
        rules=tuple(_formed(room, rules)),
        older_rules=max(0, len(rules) - MOST_RULES),
        runs=_runs(room),
        older_outcomes=max(0, outcomes.total() - MOST_RUNS),
        outcomes_of_users=outcomes[Access.NO_USER],
    )


def _classes(room: Room) -> tuple[list[ClassView], int]:
    """Returns the kinds of task of agents that were tried most, and the number of all."""
    views: list[ClassView] = []
    number = 0
    for agent in sorted({agent for agent, _ in owners_with_outcomes(room)}):
        scope = room.scopes.readable(agent=agent, user_id=None, include_shared=False)
        with room.projections.of(scope, reader=agent, user=None, is_shared=False) as view:
            tables = sorted((table for table in view.tried.tables() if table.rows), key=lambda table: -table.trials)
            number += len(tables)
            views += [_class(table, Records(view), agent) for table in tables[:MOST_SHOWN_CLASSES]]
    views.sort(key=lambda view: (-view.trials, view.agent, view.task))
    return views[:MOST_SHOWN_CLASSES], number


def _class(table: Table, records: Records, agent: str) -> ClassView:
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


def _formed(room: Room, rules: Iterable[Rule]) -> list[DayCount]:
    """Returns the number of rules formed on each day, of those with the newest outcomes."""
    newest = sorted(rules, key=lambda rule: (-rule.row.last_at, rule.id))
    last = set()
    for rule in newest[:MOST_RULES]:  # a rule is formed by the last outcome that it needs
        anchors = rule.row.anchors[: 3 if rule.record.side == WORKS else 2]
        last.add(anchors[-1])
    days = Counter(one.timestamp.date() for one in room.project.named(last).values() if isinstance(one, Outcome))
    return [DayCount(day=day, name="formed", count=count) for day, count in sorted(days.items())]


def _runs(room: Room) -> tuple[RunsView, ...]:
    """Returns the newest attempts, oldest first, in groups."""
    outcomes = [row for row, partition in room.project.partitions().items() if partition.kind == MemoryType.OUTCOME]
    rows = room.project.listed(outcomes, since=None, limit=MOST_RUNS, newest_first=True)
    steps = {row for row, one in room.project.memories(rows).items() if isinstance(one.metadata.get("step"), int)}
    judged = [one for one in room.project.candidates(rows) if one.memory not in steps and one.trials]
    judged.sort(key=lambda one: (one.seen_at, one.content_hash))
    size = max(RUNS_A_GROUP, math.ceil(len(judged) / MOST_GROUPS))
    return tuple(_group(judged[start : start + size]) for start in range(0, len(judged), size))


def _group(runs: Sequence[Candidate]) -> RunsView:
    successes = math.fsum(run.successes or 0.0 for run in runs)
    lower, upper = interval(successes, len(runs))
    return RunsView(
        first=from_micros(runs[0].seen_at),
        last=from_micros(runs[-1].seen_at),
        trials=len(runs),
        successes=successes,
        interval=Range(lower=lower, upper=upper),
    )
