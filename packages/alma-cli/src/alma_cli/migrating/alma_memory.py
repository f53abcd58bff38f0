"""Converts rows of a database of the package alma-memory to memories. Pure: rows in, values out; `migrating` reads and stores."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma.errors import ValidationError
from alma.types.identity import EPOCH, to_micros
from alma.types.kinds import MemoryType, Verdict, VerdictSource
from alma.types.memories import AntiPattern, DomainKnowledge, Heuristic, Memory, Outcome, UserPreference
from alma_cli.migrating.foreign_rows import ForeignRow, Row

ORIGIN = "alma_memory"
"""Metadata key for the origin of a memory: the id and the project of its row, and columns that have no field here."""

NO_TYPE = "general"
"""Type that alma-memory gives to a task without one. Kept as a type, it would pool the evidence of unrelated tasks."""

FORMED_CONDITION = "task type: "
FORMED_ALTERNATIVE = "[To be determined from successful outcomes]"
"""Marks of rules that alma-memory formed itself: the beginning of a heuristic's condition, and the alternative of an anti-pattern."""

NO_REASON = "no reason was recorded"
KEPT_CONFIDENCE = 0.8
"""Confidence of a memory that has none, as of a fact that no person stated."""

_VERDICTS = {1: Verdict.SUCCESS, 0: Verdict.FAILURE}
_DEFAULT_TENANT = ("tenant_id", "default")

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of alma-memory. `time` orders its rows and is the field of that name; `needed` are the columns that identify the table."""

    name: str
    cls: type[Memory]
    kind: MemoryType
    needed: frozenset[str]
    time: str
    fields: Callable[[ForeignRow], Fields]


@dataclass(frozen=True, slots=True)
class Found:
    """The memory in a row. `said` is equal for rows of equal content; `is_formed` marks a rule that alma-memory formed itself."""

    memory: Memory
    said: tuple[object, ...]
    is_formed: bool
    remarks: tuple[str, ...]


def read(table: Table, row: Row, *, now: datetime, source: VerdictSource) -> Found:
    """Returns the memory in a row. `ValidationError` or `ScopeViolationError` if it holds none."""
    given = ForeignRow({name: value for name, value in row.items() if (name, value) != _DEFAULT_TENANT}, now)
    fields = table.fields(given)
    if table.kind is MemoryType.OUTCOME:
        fields["verdict_source"] = source
    seen_at = given.past(table.time)
    made_at = min(given.moment("created_at") or seen_at, now)
    memory = table.cls(
        id=imported_id(table, row, given.moment(table.time)),
        created_at=made_at,
        updated_at=max(made_at, seen_at),
        metadata=given.metadata(ORIGIN, {"id": given.get("id"), "project": given.get("project_id")}),
        **{table.time: seen_at, **fields},
    )
    return Found(memory, _said(memory, given.moment(table.time)), _is_formed(memory), tuple(given.remarks))


def imported_id(table: Table, row: Row, moment: datetime | None) -> str:
    """Returns the fixed id of a row, so that it is stored once: a UUIDv7 of its time and of the hash of its table and id."""
    given = row.get("id")
    named = given if isinstance(given, str) and given.strip() else json.dumps(dict(row), default=repr, sort_keys=True)
    digest = hashlib.sha256(f"{table.name}\0{named}".encode("utf-8", "surrogateescape")).digest()
    random = int.from_bytes(digest[:10], "big")
    millis = max(to_micros(moment or EPOCH), 0) // 1000 & (1 << 48) - 1
    bits = millis << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def strategy_of(memory: Memory) -> str:
    """Returns the strategy of an outcome, a heuristic or an anti-pattern."""
    match memory:
        case Outcome():
            return memory.strategy_used
        case Heuristic():
            return memory.strategy
        case AntiPattern():
            return memory.pattern
    return ""


def _said(memory: Memory, moment: datetime | None) -> tuple[object, ...]:
    """Returns the content of a memory for comparison. Outcomes are equal only if they happened at the same time; those without a known
    time are all different."""
    owner = memory.user_id if isinstance(memory, UserPreference) else memory.agent
    happened = (memory.outcome, moment or memory.id) if isinstance(memory, Outcome) else ()
    return memory.kind, owner, memory.text, memory.keywords, *happened


def _is_formed(memory: Memory) -> bool:
    if isinstance(memory, Heuristic):
        return memory.condition.startswith(FORMED_CONDITION)
    return isinstance(memory, AntiPattern) and memory.better_alternative == FORMED_ALTERNATIVE


def _outcome(row: ForeignRow) -> Fields:
    task_type = row.label("task_type", NO_TYPE)
    return {
        "agent": row.name("agent"),
        "task_description": row.text("task_description"),
        "outcome": _verdict(row.get("success")),
        "strategy_used": row.optional_text("strategy_used") or "",
        "error_message": row.optional_text("error_message"),
        "user_feedback": row.optional_text("user_feedback"),
        "task_type": None if task_type == NO_TYPE else task_type,
        "duration_ms": row.duration("duration_ms"),
    }


def _verdict(value: object) -> Verdict:
    if value is None:
        return Verdict.UNVERIFIED
    if not isinstance(value, int) or value not in _VERDICTS:
        raise ValidationError("success is neither 0 nor 1")
    return _VERDICTS[value]


def _heuristic(row: ForeignRow) -> Fields:
    return {
        "agent": row.name("agent"),
        "condition": row.text("condition"),
        "strategy": row.text("strategy"),
        "confidence": row.confidence(KEPT_CONFIDENCE),
    }


def _anti_pattern(row: ForeignRow) -> Fields:
    why_bad = row.optional_text("why_bad")
    if why_bad is None:
        row.remarks.append(f"why_bad is empty: {NO_REASON!r} stands instead")
    return {
        "agent": row.name("agent"),
        "pattern": row.text("pattern"),
        "why_bad": why_bad or NO_REASON,
        "better_alternative": row.optional_text("better_alternative"),
    }


def _knowledge(row: ForeignRow) -> Fields:
    return {
        "agent": row.name("agent"),
        "domain": row.label("domain", "general"),
        "fact": row.text("fact"),
        "source": row.label("source", "alma-memory"),
        "confidence": row.confidence(KEPT_CONFIDENCE),
    }


def _preference(row: ForeignRow) -> Fields:
    return {
        "user_id": row.name("user_id"),
        "category": row.label("category", "general"),
        "preference": row.text("preference"),
        "source": row.label("source", "alma-memory"),
        "confidence": row.confidence(KEPT_CONFIDENCE),
    }


def _table(
    name: str, cls: type[Memory], kind: MemoryType, needed: str, time: str, fields: Callable[[ForeignRow], Fields]
) -> Table:
    return Table(name, cls, kind, frozenset(needed.split()), time, fields)


TABLES = (
    _table("outcomes", Outcome, MemoryType.OUTCOME, "project_id agent task_description success", "timestamp", _outcome),
    _table("heuristics", Heuristic, MemoryType.HEURISTIC, "project_id agent condition strategy", "last_validated", _heuristic),
    _table("anti_patterns", AntiPattern, MemoryType.ANTI_PATTERN, "project_id agent pattern why_bad", "last_seen", _anti_pattern),
    _table(
        "domain_knowledge",
        DomainKnowledge,
        MemoryType.DOMAIN_KNOWLEDGE,
        "project_id agent domain fact",
        "last_verified",
        _knowledge,
    ),
    _table("preferences", UserPreference, MemoryType.USER_PREFERENCE, "user_id category preference", "timestamp", _preference),
)
"""The tables that are read, outcomes first: formed rules are compared with them."""
