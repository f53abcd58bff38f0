"""A slice as a table: what was recalled, its score, and the factors behind it (similarity, recency, success, confidence)."""

from typing import TYPE_CHECKING

from alma.cli.output import table

if TYPE_CHECKING:
    from rich.table import Table

    from alma.types import MemorySlice
    from alma.types.memories import AnyMemory
    from alma.types.recalled import Recalled

FACTORS = ("similarity", "recency", "success", "confidence")
_COLUMNS = ("tag", "what", "score", "sim.", "rec.", "succ.", "conf.")


def slice_table(memories: "MemorySlice", *, title: str | None = None) -> "Table":
    """One row a memory, best first."""
    return table(_COLUMNS, (_row(item) for item in memories.recalled), title=title, right=_COLUMNS[2:])


def _row(item: "Recalled") -> tuple[str, ...]:
    factors = (getattr(item.factors, name) for name in FACTORS)
    return (item.tag, told(item.memory), f"{item.score:.3f}", *(f"{factor:.2f}" for factor in factors))


def told(memory: "AnyMemory") -> str:
    """A memory in a line or two for a person."""
    parts = [memory.text]
    if memory.kind == "outcome":
        parts = [
            f"{memory.outcome.value}: {memory.task_description}",
            f"  by {memory.strategy_used}" if memory.strategy_used else "",
        ]
    elif memory.kind == "anti_pattern" and memory.better_alternative:
        parts.append(f"  instead {memory.better_alternative}")
    if shared := memory.metadata.get("shared_from"):
        parts.append(f"  from {shared}")
    return "\n".join(" ".join(part.split()) if not part.startswith("  ") else part for part in parts if part)
