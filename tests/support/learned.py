"""Helpers that read what a project has learned: its rules, and the counts behind them."""

from typing import Any

from alma import ALMA, AntiPattern, Heuristic
from alma.storage.relational.evidence import evidence_from
from alma.types.evidence import Evidence

HIDDEN = frozenset({"id", "created_at", "updated_at", "project_id"})


def heuristics(alma: ALMA, agent: str | None = None) -> list[Heuristic]:
    """The heuristics that hold, of one agent or of all."""
    found = alma.list_memories("heuristic", limit=1_000)
    return [memory for memory in found if isinstance(memory, Heuristic) and agent in (None, memory.agent)]


def anti_patterns(alma: ALMA, agent: str | None = None) -> list[AntiPattern]:
    """The anti-patterns that hold, of one agent or of all."""
    found = alma.list_memories("anti_pattern", limit=1_000)
    return [memory for memory in found if isinstance(memory, AntiPattern) and agent in (None, memory.agent)]


def evidence(alma: ALMA, agent: str | None = None) -> list[Evidence]:
    """The evidence on strategies, of one agent or of all; that of outcomes which are alone in their classes, too."""
    project = alma._room.project
    rows = [(stored.table, stored.row) for stored in project.rows() if stored.row]
    counted = [evidence_from(row) for table, row in rows if table == "evidence"]
    resting = [row["id"] for table, row in rows if table == "memory" and row["evidence"]]
    behind = project.learned.behind([place.memory for place in project.find(resting).values()])
    alone = [stored.evidence for stored in behind.values() if not stored.is_stored]
    return [one for one in (*counted, *alone) if one.names_strategy and agent in (None, one.agent)]


def counts(alma: ALMA, agent: str | None = None) -> dict[str, tuple[float, float]]:
    """Lifetime successes and trials by strategy."""
    return {one.strategy: (one.lifetime.successes, one.lifetime.trials) for one in evidence(alma, agent)}


def told(alma: ALMA) -> list[dict[str, Any]]:
    """The rules and their counts, without ids and times, in an order of their own."""
    said = [memory.model_dump(mode="json") for memory in (*heuristics(alma), *anti_patterns(alma))]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)


def shown(alma: ALMA, task: str, agent: str) -> list[dict[str, Any]]:
    """The rules as they are shown for a task, without ids and times, in an order of their own."""
    found = alma.retrieve(task, agent, top_k=100)
    said = [memory.model_dump(mode="json") for memory in (*found.heuristics, *found.anti_patterns)]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)
