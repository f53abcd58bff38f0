"""Events of learned rules, which are no rows of the store: found by comparing what follows from the outcomes with what followed before."""

import json
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256
from importlib.metadata import version
from typing import Any

from alma import ALMA
from alma.protocols import Entry
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma_events.mapping import IMPORT, PURGE, index_of
from alma_events.reading import event_id
from alma_events.types import MemoryEvent
from alma_events.types import MemoryEventType as Type

FORMING = frozenset(
    {
        *(Type.HEURISTIC_FORMED, Type.ANTIPATTERN_DETECTED, Type.RULE_PROMOTED, Type.RULE_DEMOTED),
        *(Type.RULE_REWORDED, Type.CONFIDENCE_UPDATED),
    }
)
"""Types of the events of learned rules."""

RuleState = Mapping[str, Any]
"""What is known of the rules of a project, as plain JSON values without words."""

_SIDES = {MemoryType.HEURISTIC: Type.HEURISTIC_FORMED, MemoryType.ANTI_PATTERN: Type.ANTIPATTERN_DETECTED}
_LEVELS = {None: 0, "candidate": 1, "likely": 2, "proven": 3}
_LANES = {**dict.fromkeys(_SIDES.values(), 0), Type.CONFIDENCE_UPDATED: 1, Type.RULE_PROMOTED: 2, Type.RULE_DEMOTED: 2}
_LANES[Type.RULE_REWORDED] = 3
_UNLEARNED = frozenset({IMPORT, PURGE, "upgrade", "rebuild"})
"""Operations after which other rules follow although nothing was learned."""

MOST_RULES, MOST_ENTRIES = 10_000, 2_000


def rule_events(alma: ALMA, state: RuleState | None) -> tuple[list[MemoryEvent], RuleState]:
    """Returns what became of the learned rules since a state, as thin events, and the state by now, to be given to the next call.

    A caller that outlives its process keeps the state, in the transaction that keeps the events: then each rule is reported as formed once.
    Without a state, and after an import, a purge, or an update of the package that learns, there are no events: what follows then is known
    from now on. `id` of `heuristic.formed` and `antipattern.detected` depends on the rule alone. These events have no `previous`.
    """
    project = alma.storage.project(alma.project_id)
    head, learned = project.head(), version("alma-learning")
    if state is not None and state["seq"] == head:
        return [], state
    known: dict[str, Any] = dict(state["rules"]) if state else {}
    agents = None if state is None or state["version"] != learned else _agents_since(alma, state["seq"])
    found = list(_rules(alma, agents)) if agents != set() else []
    now_at = project.head()  # what was written meanwhile may be in the rules already, and is looked at once more
    events = list[MemoryEvent]()
    for rule in found:
        before, now = known.get(rule.memory.id), rule.known()
        if agents is not None and before != now:
            events += _events(alma, rule, before, now, now_at)
        known[rule.memory.id] = now
    events += _of_gone(alma, known, found, agents, now_at)
    return events, {"version": learned, "seq": head, "rules": known}


@dataclass(frozen=True, slots=True)
class _Rule:
    """A learned rule, and the key by which its words are compared."""

    memory: Heuristic | AntiPattern
    key: bytes

    def known(self) -> dict[str, Any]:
        """Returns what is kept of it: no words."""
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


def _rules(alma: ALMA, agents: set[str] | None) -> Iterator[_Rule]:
    """Yields the learned rules of some agents, or of all."""
    key = alma.storage.id.encode()[:64]
    for agent in [None] if agents is None else sorted(agents):
        for kind in _SIDES:
            for one in alma.list_memories(kind=kind.value, agent=agent, limit=MOST_RULES):
                if isinstance(one, Heuristic | AntiPattern) and one.metadata.get("learned"):
                    yield _Rule(one, key)


def _agents_since(alma: ALMA, seq: int) -> set[str] | None:
    """Returns the agents whose outcomes changed since a record; `None` where rules may differ that nobody learned, or where too much changed."""
    agents, partial = set[str](), set[str]()
    for count, entry in enumerate(alma.storage.project(alma.project_id).entries(after=seq)):
        if count >= MOST_ENTRIES or entry.operation in _UNLEARNED or entry.is_purged:
            return None
        _note_agents(entry, agents, partial)
    places = alma.storage.project(alma.project_id).find(partial) if partial else {}
    return agents | {one.partition.agent for one in places.values() if one.partition.agent is not None}


def _note_agents(entry: Entry, agents: set[str], partial: set[str]) -> None:
    for change in entry.changes:
        row = change.after if change.after and "agent" in change.after else change.before or {}
        if change.table == "memory":
            if row.get("agent"):
                agents.add(row["agent"])
            elif "agent" not in row:
                partial.add(change.key)


def _events(alma: ALMA, rule: _Rule, before: Mapping[str, Any] | None, now: Mapping[str, Any], seq: int) -> Iterator[MemoryEvent]:
    """Yields the events of a rule that differs from what was known of it."""
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


def _of_gone(alma: ALMA, known: dict[str, Any], found: list[_Rule], agents: set[str] | None, seq: int) -> list[MemoryEvent]:
    """Returns the events of rules that follow no more, and notes that they are none. Such a rule is not formed a second time."""
    there, events = {rule.memory.id for rule in found}, []
    for key, before in known.items():
        if key not in there and before["level"] is not None and (agents is None or before["agent"] in agents):
            known[key] = {**before, "level": None}
            if agents is not None:
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
        id=_formed_id(alma, rule_id) if kind in _SIDES.values() else event_id(alma.storage.id, alma.project_id, seq, index),
        seq=seq,
        index=index,
        user_id=now["user_id"],
        operation="learn",
    )


def _formed_id(alma: ALMA, rule_id: str) -> str:
    digest = sha256(json.dumps([alma.storage.id, alma.project_id, "formed", rule_id]).encode()).digest()
    return f"evt_{b32encode(digest).decode()[:26].lower()}"
