"""A slice as a table: the memories, their scores, and the factors behind these (similarity, recency, success, confidence)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alma.text import one_line
from alma_cli.output import table

if TYPE_CHECKING:
    from rich.table import Table

    from alma.types import MemorySlice
    from alma.types.memories import AnyMemory
    from alma.types.recalled import Recalled
    from alma.types.strategies import StrategyRecord

FACTORS = ("similarity", "recency", "success", "confidence")
_COLUMNS = ("tag", "what", "score", "sim.", "rec.", "succ.", "conf.")


def slice_table(memories: "MemorySlice", *, title: str | None = None) -> "Table":
    """Returns one row per memory, and one per way that was tried and is no rule, in the order of the prompt; last what it leaves out."""
    from alma.types.strategies import TRIED

    prompt = memories.to_prompt()

    def place(row: Sequence[object]) -> int:
        found = prompt.find(f"\n[{row[0]}]")
        return len(prompt) if found < 0 else found

    rows = [*map(_row, memories.recalled), *(_way_row(way) for way in memories.strategies if way.rule == TRIED)]
    return table(_COLUMNS, sorted(rows, key=place), title=title, right=_COLUMNS[2:])


def _row(item: "Recalled") -> tuple[str, ...]:
    factors = (getattr(item.factors, name) for name in FACTORS)
    return (item.tag, summary_of(item.memory), f"{item.score:.3f}", *(f"{factor:.2f}" for factor in factors))


def _way_row(way: "StrategyRecord") -> tuple[str, ...]:
    from alma.types.strategies import UNNAMED

    return (way.tag or "", f"{one_line(way.strategy) or UNNAMED}\n  {way.record(None)}", *[""] * (len(_COLUMNS) - 2))


def summary_of(memory: "AnyMemory") -> str:
    """Returns a memory in a line for a person, with further data in further lines."""
    from alma.types import Outcome

    details = [_detail(memory), record_of(memory)]
    if shared := memory.metadata.get("shared_from"):
        details.append(f"from {shared}")
    first = f"{memory.outcome.value}: {memory.text}" if isinstance(memory, Outcome) else memory.text
    return "\n  ".join(" ".join(line.split()) for line in (first, *details) if line)


def _detail(memory: "AnyMemory") -> str:
    from alma.types import AntiPattern, CustomMemory, Outcome

    match memory:
        case Outcome() if memory.strategy_used:
            return f"by {memory.strategy_used}"
        case AntiPattern() if memory.better_alternative and not memory.metadata.get(
            "learned"
        ):  # the record of a learned one names it
            return f"instead {memory.better_alternative}"
        case CustomMemory():
            return memory.kind.replace("_", " ")
        case _:
            return ""


def record_of(memory: "AnyMemory") -> str:
    """Returns what became of a rule, in the words of a prompt."""
    from alma.types import AntiPattern, Heuristic

    match memory:
        case Heuristic() if memory.occurrence_count:
            return memory.record(None)
        case AntiPattern() if memory.metadata.get("learned"):
            return memory.record(None)
        case _:
            return ""


def owner_of(memory: "AnyMemory") -> str:
    """Returns whose a memory is: an agent's, a user's, or an agent's for a user."""
    from alma.types import UserPreference

    user = getattr(memory, "user_id", None)
    is_of_agent = bool(memory.agent) and not isinstance(memory, UserPreference)  # whose agent is the one that noted it
    return f"{memory.agent}, for {user}" if user and is_of_agent else user or memory.agent
