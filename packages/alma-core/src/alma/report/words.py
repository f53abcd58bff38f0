"""Figures, times and memories in words."""

from datetime import datetime

from alma.report.markup import stored
from alma.types.memories import AntiPattern, DomainKnowledge, Heuristic, Memory, Outcome, UserPreference

_PLURALS = {"memory": "memories", "anti_pattern": "anti-patterns", "domain_knowledge": "facts", "user_preference": "preferences"}
_KINDS = {"anti_pattern": "anti-pattern", "domain_knowledge": "fact", "user_preference": "preference"}


def many(count: int, one: str) -> str:
    """A number and its noun: "1 memory", "2 memories"."""
    return f"{count:,} {one if count == 1 else _PLURALS.get(one, one + 's')}"


def kind_told(kind: str) -> str:
    """A kind as people say it."""
    return _KINDS.get(kind, kind.replace("_", " "))


def kinds_told(kind: str) -> str:
    """A kind as people say it of several."""
    return _PLURALS.get(kind, f"{kind.replace('_', ' ')}s")


def size(count: int) -> str:
    """Bytes for a person."""
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def moment(at: datetime) -> str:
    """A time to the minute, in UTC."""
    return f"{at.day} {at:%b %Y, %H:%M}"


def day(at: datetime) -> str:
    """A date."""
    return f"{at.day} {at:%b %Y}"


def percent(part: int, whole: int) -> str:
    """A share, "–" of nothing."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


def memory_told(memory: Memory) -> tuple[str, list[str]]:
    """A memory in a line, and what belongs to it in further ones, all ready to be escaped."""
    match memory:
        case Heuristic():
            lines = [memory.condition, memory.strategy]
        case AntiPattern():
            lines = [memory.pattern, f"Why: {memory.why_bad}", *_with("Instead: ", memory.better_alternative)]
        case UserPreference():
            lines = [memory.preference, f"{memory.category}, wanted by {memory.user_id}"]
        case DomainKnowledge():
            lines = [memory.fact, memory.domain]
        case Outcome():
            lines = [memory.task_description, *_with("Way: ", memory.strategy_used), *_with("Error: ", memory.error_message)]
        case _:
            lines = [memory.text]
    first, *rest = (stored(line) for line in lines)
    return first, rest


def record_told(memory: Memory) -> str:
    """How a memory fared when it was tried."""
    match memory:
        case Heuristic() if memory.occurrence_count:
            return f"worked {memory.success_count:,} of {many(memory.occurrence_count, 'time')}{_standing(memory)}"
        case Heuristic():
            return "never tried"
        case AntiPattern() if memory.metadata.get("learned"):
            tried = memory.occurrence_count + memory.success_count
            return f"failed {memory.occurrence_count:,} of {many(tried, 'time')}{_standing(memory)}"
        case AntiPattern():
            return f"seen {many(memory.occurrence_count, 'time')}"
        case Outcome():
            return memory.outcome.value
    return ""


def _standing(memory: Memory) -> str:
    status = memory.metadata.get("status")
    return f"; {stored(str(status), 40)}" if status else ""


def _with(word: str, text: str | None) -> list[str]:
    return [word + text] if text else []
