"""Events of learned rules, which are no rows of the store: found by comparing what follows from the outcomes with what followed before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

from alma import ALMA
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma_events.mapping import IMPORT, PURGE, Owner, index_of, owner_of
from alma_events.reading import named_id
from alma_events.types import MemoryEvent
from alma_events.types import MemoryEventType as Type

FORMING = frozenset(
    {
        *(Type.HEURISTIC_FORMED, Type.ANTIPATTERN_DETECTED, Type.RULE_PROMOTED, Type.RULE_DEMOTED),
        *(Type.RULE_REWORDED, Type.CONFIDENCE_UPDATED),
    }
)
"""Types of the events of learned rules."""

Pairs = set[tuple[str, str | None]]
"""Agents, each with a user whom it learned for, or with none."""

RuleState = Mapping[str, Any]
"""The known rules of a project, as plain JSON values without words."""

_SIDES = {MemoryType.HEURISTIC: Type.HEURISTIC_FORMED, MemoryType.ANTI_PATTERN: Type.ANTIPATTERN_DETECTED}
_LEVELS = {None: 0, "candidate": 1, "likely": 2, "proven": 3}
_LANES = {**dict.fromkeys(_SIDES.values(), 0), Type.CONFIDENCE_UPDATED: 1, Type.RULE_PROMOTED: 2, Type.RULE_DEMOTED: 2}
_LANES[Type.RULE_REWORDED] = 3
_UNLEARNED = frozenset({IMPORT, PURGE, "upgrade", "rebuild"})
"""Operations after which other rules follow although nothing was learned."""

MOST_RULES, MOST_ENTRIES = 10_000, 2_000


def rule_events(alma: ALMA, state: RuleState | None) -> tuple[list[MemoryEvent], RuleState]:
    """Returns the changes of learned rules since a state, as thin events, and the new state, for the next call.

    A caller that outlives its process keeps the state, in the transaction that keeps the events: then each rule is reported as formed once.
    Without a state, and after an import, a purge, or an update of the package that learns, there are no events: what follows then is known
    from now on. `id` of `heuristic.formed` and `antipattern.detected` depends on the rule alone. These events have no `previous`.
    """
    project = alma.storage.project(alma.project_id)
    head, learned = project.head(), version("alma-learning")
    if state is not None and state["seq"] == head:
        return [], state
    known: dict[str, Any] = dict(state["rules"]) if state else {}
    pairs = None if state is None or state["version"] != learned else _pairs_since(alma, state["seq"])
    found = _rules(alma, _all_pairs(alma) if pairs is None else pairs)
    now_at = project.head()  # what was written meanwhile may be in the rules already, and is looked at once more
    events = list[MemoryEvent]()
    for rule in found:
        before, now = known.get(rule.memory.id), rule.known()
        if pairs is not None and before != now:
            events += _events(alma, rule, before, now, now_at)
        known[rule.memory.id] = now
    events += _of_gone(alma, known, found, pairs, now_at)
    return events, {"version": learned, "seq": head, "rules": known}


@dataclass(frozen=True, slots=True)
class _Rule:
    """A learned rule, and the key by which its words are compared."""

    memory: Heuristic | AntiPattern
    key: bytes

    def known(self) -> dict[str, Any]:
        """Returns the part of the rule that is kept in the state: no words."""
        one = self.memory
        words = one.strategy if isinstance(one, Heuristic) else one.pattern
        return {
            "agent": one.agent,
            "user_id": one.user_id,
            "kind": (MemoryType.HEURISTIC if isinstance(one, Heuristic) else MemoryType.ANTI_PATTERN).value,
            "level": one.metadata["status"],
            "tasks": one.metadata["tasks"],
            "occurrence_count": one.occurrence_count,
            "success_count": one.success_count,
            "words": blake2b(words.encode(), key=self.key, digest_size=8).hexdigest(),
        }


def _rules(alma: ALMA, pairs: Pairs) -> list[_Rule]:
    """Returns the learned rules of some agents, for some of their users. Rules of several users are listed as a reader without a user sees
    them."""
    key, found = alma.storage.id.encode()[:64], dict[str, _Rule]()
    nobody = f"no user of {alma.storage.id}"  # without a user, rules for all users are listed, of which there may be thousands
    for agent, user in sorted(pairs, key=lambda pair: (pair[0], pair[1] or "")):
        for kind in _SIDES:
            for one in alma.list_memories(kind=kind.value, agent=agent, user_id=user or nobody, limit=MOST_RULES):
                if isinstance(one, Heuristic | AntiPattern) and one.metadata.get("learned"):
                    found.setdefault(one.id, _Rule(one, key))
    return list(found.values())


def _all_pairs(alma: ALMA) -> Pairs:
    """Returns all agents that have outcomes, and their users."""
    partitions = alma.storage.project(alma.project_id).partitions().values()
    pairs = {(one.agent, one.user_id) for one in partitions if one.agent is not None and one.kind == MemoryType.OUTCOME}
    return pairs | {(agent, None) for agent, _ in pairs}


def _pairs_since(alma: ALMA, seq: int) -> Pairs | None:
    """Returns the agents whose outcomes changed since a record, and their users; `None` where rules may differ that nobody learned, or where too
    much changed."""
    owners, partial = set[Owner](), set[str]()
    for count, entry in enumerate(alma.storage.project(alma.project_id).entries(after=seq)):
        if count >= MOST_ENTRIES or entry.operation in _UNLEARNED or entry.is_purged:
            return None
        for change in entry.changes:
            row = change.after if change.after and "owner" in change.after else change.before or {}
            if change.table == "memory" and "owner" in row:
                owners.add(owner_of(row))
            elif change.table == "memory":
                partial.add(change.key)
    places = alma.storage.project(alma.project_id).find(partial) if partial else {}
    owners |= {Owner(one.partition.agent, one.partition.user_id, one.partition.kind) for one in places.values()}
    pairs = {(one.agent, one.user_id) for one in owners if one.agent is not None and one.kind == MemoryType.OUTCOME}
    return pairs | {(agent, None) for agent, _ in pairs}


def _events(alma: ALMA, rule: _Rule, before: Mapping[str, Any] | None, now: Mapping[str, Any], seq: int) -> Iterator[MemoryEvent]:
    """Yields the events of a rule that differs from its known state."""
    if before is None:
        said = {name: now[name] for name in ("level", "tasks", "occurrence_count", "success_count")}
        yield _event(alma, rule.memory.id, now, _SIDES[MemoryType(now["kind"])], said, seq)
        return
    if before["level"] != now["level"]:
        is_up = _LEVELS.get(now["level"], 0) > _LEVELS.get(before["level"], 0)
        said = {"level": {"old": before["level"], "new": now["level"]}}
        yield _event(alma, rule.memory.id, now, Type.RULE_PROMOTED if is_up else Type.RULE_DEMOTED, said, seq)
    if before["words"] != now["words"]:
        yield _event(alma, rule.memory.id, now, Type.RULE_REWORDED, {}, seq)
    counts = ("occurrence_count", "success_count", "tasks")
    if any(before[name] != now[name] for name in counts):
        said = {name: {"old": before[name], "new": now[name]} for name in counts}
        yield _event(alma, rule.memory.id, now, Type.CONFIDENCE_UPDATED, said, seq)


def _of_gone(alma: ALMA, known: dict[str, Any], found: list[_Rule], pairs: Pairs | None, seq: int) -> list[MemoryEvent]:
    """Returns the events of rules that follow no more, and notes that they are none. Such a rule is not formed a second time."""
    there, events = {rule.memory.id for rule in found}, []
    for key, before in known.items():
        is_looked_at = pairs is None or (before["agent"], before["user_id"]) in pairs
        if key not in there and before["level"] is not None and is_looked_at:
            known[key] = {**before, "level": None}
            if pairs is not None:
                said = {"level": {"old": before["level"], "new": None}}
                events.append(_event(alma, key, before, Type.RULE_DEMOTED, said, seq))
    return events


def _event(alma: ALMA, rule_id: str, now: Mapping[str, Any], kind: Type, payload: Mapping[str, Any], seq: int) -> MemoryEvent:
    index = index_of(rule_id, _LANES[kind])
    return MemoryEvent(
        event_type=kind,
        agent=now["agent"],
        project_id=alma.project_id,
        memory_type=now["kind"],
        memory_id=rule_id,
        payload=payload,
        id=named_id(alma.storage.id, alma.project_id, *(("formed", rule_id) if kind in _SIDES.values() else (seq, index))),
        seq=seq,
        index=index,
        user_id=now["user_id"],
        operation="learn",
    )
