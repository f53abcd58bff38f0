"""Usage of memories that were shown, and feedback on them."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from alma.errors import MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.rules import Rule, all_rules, as_memory, count_use, find_rules, read_records
from alma.protocols import Lookups, Place, Write
from alma.text import quoted
from alma.types.identity import user_in
from alma.types.kinds import FeedbackSignal
from alma.types.memories import AnyMemory
from alma.types.reports import FeedbackReport, UsageReport
from alma.types.strategies import RuleRecord, is_rule_id
from alma.types.tags import not_an_id

_LOG = logging.getLogger("alma")

MOST_NAMED = 20
"""Limit on the unknown ids that the log names."""

Named = tuple[str, str | None, Sequence[str]]
"""An agent, the user it works for, and the ids that it names."""

ReadRecords = Callable[[Lookups], Mapping[str, RuleRecord]]
"""Reads the records of the learned rules among the ids of a write, by id."""

T = TypeVar("T")


class _UnexplainedError(Exception):
    """Raised in a write for an id that is neither of a stored memory nor of a rule that this process read last."""


_Sorted = tuple[list[str], list[str]]
"""Ids of memories that an agent can see, and other ids."""


def record_usage(room: Room, *, retrieved: object, used: object, agent: object, user_id: object) -> UsageReport:
    """Counts the memories used; the others shown count as ignored, unless the usage is unknown (`used` is `None`)."""
    reader = args.checked_name(agent, "agent")
    shown = args.checked_ids(retrieved, "retrieved_memory_ids")
    user = args.optional_name(user_id, "user_id")
    if used is None:
        rules = rules_among(room, shown, agent=reader, user_id=user)
        return judged(room, room.project, shown, None, agent=reader, user_id=user, rules=rules)
    used_ids = args.checked_ids(used, "used_memory_ids")
    ids = [*shown, *used_ids]
    found = _count_each(room, ids, lambda one: "used" if one in used_ids else "ignored", reader, user, call="record_usage")
    return _report(found, used_ids)


def _count_each(
    room: Room, ids: Sequence[str], column: Callable[[str], str], agent: str, user: str | None, *, call: str
) -> _Sorted:
    """Adds 1 to a usage count of each of the memories that the agent can see. Others are logged and left out."""

    def write_counts(read: ReadRecords) -> _Sorted:
        with room.project.write(actor=agent, operation=call, at=room.now()) as write:
            records = read(write.stored)
            found = _visible(room, write.stored, ids, agent, user, records)
            count(write, {one: {column(one): 1} for one in found[0]}, records)
        return found

    found = write_with_rules(room, [(agent, user, ids)], write_counts)
    _warn_of(found[1], agent, call)
    return found


def write_with_rules(room: Room, named: Sequence[Named], write: Callable[[ReadRecords], T]) -> T:
    """Makes a write that reads the records of the learned rules among the ids that agents name.

    The rules are those that this process read last. If they leave an id unexplained, the write is made again with the rules as they are now.
    """
    at_hand = _rules_at_hand(room, named)
    if at_hand is not None:
        ids = {one for *_, given in named for one in given}
        with suppress(_UnexplainedError):
            return write(lambda stored: _explain(stored, at_hand, ids))
    found: dict[str, Rule] = {}
    for agent, user, given in named:
        found |= rules_among(room, given, agent=agent, user_id=user)
    return write(lambda stored: read_records(stored, found))


def _rules_at_hand(room: Room, named: Sequence[Named]) -> dict[str, Rule] | None:
    """Returns the learned rules among the ids without reading from the store; `None` if an id may be of a rule and the agent read none yet."""
    found: dict[str, Rule] = {}
    for agent, user, given in named:
        with room.projections.at_hand(reader=agent, user=user) as view:
            recorded = set[str]() if view is None else view.records.ids
            wanted = {one for one in given if is_rule_id(one) or one in recorded}
            if wanted and view is None:
                return None
            if wanted and view is not None:
                found |= {rule.id: rule for rule in all_rules(view) if rule.id in wanted}
    return found


def _explain(stored: Lookups, rules: Mapping[str, Rule], ids: Collection[str]) -> Mapping[str, RuleRecord]:
    """Returns the records of rules. `_UnexplainedError` if one was archived, or rests on an outcome that is gone, or if an id is of no memory."""
    records = read_records(stored, rules)
    rows = [(record, rules[key].row) for key, record in records.items()]
    resting = [(*record.anchors, *(row.anchors if record.version else row.outcomes)) for record, row in rows]
    memories = {*ids, *chain.from_iterable(resting)} - records.keys()
    is_any_gone = len(stored.find(memories)) < len(memories)
    if is_any_gone or any(record.archived_at is not None for record in records.values()):
        raise _UnexplainedError
    return records


def rules_among(room: Room, ids: Sequence[str], *, agent: str, user_id: str | None) -> dict[str, Rule]:
    """Returns the learned rules among ids that an agent can see. Called before a write: rules are read from all outcomes.

    Those of users count as seen: the agent was shown them and names them by id only.
    """
    known = room.project.find(ids)
    unknown = [memory_id for memory_id in ids if memory_id not in known]
    return find_rules(room, unknown, reader=agent, user=user_id) if unknown else {}


def count(write: Write, counts: Mapping[str, Mapping[str, float]], records: Mapping[str, RuleRecord]) -> None:
    """Adds to the usage counts of memories, and of learned rules, by id."""
    write.count_usage({key: added for key, added in counts.items() if key not in records})
    count_use(write, records, {key: added for key, added in counts.items() if key in records})


def judged(
    room: Room,
    stored: Lookups,
    shown: Sequence[str],
    used: Sequence[str] | None,
    *,
    agent: str,
    user_id: str | None,
    rules: Collection[str],
) -> UsageReport:
    """Returns what to count for memories that were shown, learned `rules` among them. Ids that the agent cannot see are logged and left
    out."""
    found = _visible(room, stored, [*shown, *(used or ())], agent, user_id, rules)
    _warn_of(found[1], agent, "record_usage")
    return _report(found, used)


def _report(found: _Sorted, used: Sequence[str] | None) -> UsageReport:
    known, unknown = map(tuple, found)
    if used is None:
        return UsageReport(used=(), ignored=(), neutral=known, unknown=unknown)
    was_used = tuple(memory_id for memory_id in known if memory_id in used)
    ignored = tuple(memory_id for memory_id in known if memory_id not in used)
    return UsageReport(used=was_used, ignored=ignored, neutral=(), unknown=unknown)


def record_feedback(room: Room, *, memory_id: object, signal: object, agent: object, user_id: object) -> FeedbackReport:
    """Counts a signal about a memory that the agent can see. An id that it cannot see is logged and left out."""
    reader = args.checked_name(agent, "agent")
    column = args.checked_choice(signal, "signal", [known.value for known in FeedbackSignal])
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    user = args.optional_name(user_id, "user_id")
    found = _count_each(room, [wanted], lambda _: column, reader, user, call="record_feedback")
    return FeedbackReport(counted=tuple(found[0]), unknown=tuple(found[1]))


def _warn_of(unknown: Sequence[str], agent: str, call: str) -> None:
    if unknown:
        named = ", ".join(map(quoted, unknown[:MOST_NAMED]))
        more = f" and {len(unknown) - MOST_NAMED:,} more" if len(unknown) > MOST_NAMED else ""
        _LOG.warning("%s: %r sees no memories %s%s; nothing was counted for them", call, agent, named, more)


def get(room: Room, memory_id: object, *, agent: object = None, user_id: object = None) -> AnyMemory:
    """Returns a memory by id: any of the project, or with `agent` only one that this agent can see. `MemoryNotFoundError` otherwise."""
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    if user_id is not None and agent is None:
        raise ValidationError("user_id says what an agent may see, so it needs an agent")
    found = room.project.find([wanted]).get(wanted)
    if found is not None and agent is not None:
        found = found if _sees(room, found, args.checked_name(agent, "agent"), args.optional_name(user_id, "user_id")) else None
    stored = {} if found is None or found.is_archived else room.project.memories([found.memory])
    memory = next(iter(stored.values()), None)
    if memory is None and found is None:
        memory = _rule(room, wanted, agent, user_id)
    if memory is None:  # also if it was purged just now
        raise MemoryNotFoundError(
            f"project {room.name!r} has no memory {quoted(wanted)}"
            + (f" that {quoted(agent)} can see" if agent else "")
            + not_an_id(wanted)
        )
    return memory


def _rule(room: Room, wanted: str, agent: object, user_id: object) -> AnyMemory | None:
    """Returns a learned rule by its id, with what holds of it now; with `agent`, only one that this agent can see."""
    reader = None if agent is None else args.checked_name(agent, "agent")
    user = args.optional_name(user_id, "user_id")
    rule = find_rules(room, [wanted], reader=reader, user=user, of_all_users=False).get(wanted)
    if rule is None or (reader is not None and user_in(rule.record.owner) not in (None, user)):
        return None
    return as_memory(room, rule)


def _visible(room: Room, stored: Lookups, ids: Iterable[str], agent: str, user: str | None, rules: Collection[str]) -> _Sorted:
    """Sorts the ids into memories that the agent can see and others. Without a user, memories of users count as seen: the agent was shown
    them and names them by id only."""
    wanted = list(dict.fromkeys(ids))
    places = stored.find(memory_id for memory_id in wanted if memory_id not in rules)
    result: _Sorted = ([], [])
    for memory_id in wanted:
        place = places.get(memory_id)
        is_seen = memory_id in rules or (
            place is not None
            and not place.is_archived
            and _sees(room, place, agent, place.partition.user_id if user is None else user)
        )
        result[0 if is_seen else 1].append(memory_id)
    return result


def _sees(room: Room, place: Place, agent: str, user: str | None) -> bool:
    return room.scopes.access_to(place.partition, agent=agent, user_id=user).is_open
