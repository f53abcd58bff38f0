"""Helpers that read what a project has learned: its rules, and the counts of the ways that were tried."""

from typing import Any

from alma import ALMA, AntiPattern, Heuristic

HIDDEN = frozenset({"id", "created_at", "updated_at", "project_id"})


def heuristics(alma: ALMA, agent: str | None = None) -> list[Heuristic]:
    """The heuristics that hold, of one agent or of all."""
    found = alma.list_memories("heuristic", limit=1_000)
    return [memory for memory in found if isinstance(memory, Heuristic) and agent in (None, memory.agent)]


def anti_patterns(alma: ALMA, agent: str | None = None) -> list[AntiPattern]:
    """The anti-patterns that hold, of one agent or of all."""
    found = alma.list_memories("anti_pattern", limit=1_000)
    return [memory for memory in found if isinstance(memory, AntiPattern) and agent in (None, memory.agent)]


def counts(alma: ALMA, agent: str = "dev", task: str | None = None) -> dict[str, tuple[int, int]]:
    """Whole successes and trials by way, of attempts and of steps, on tasks like one or on all."""
    rows = alma.strategies(task, agent, include_steps=True, limit=1_000)
    return {row.strategy: (row.successes, row.trials) for row in rows}


def told(alma: ALMA) -> list[dict[str, Any]]:
    """The rules and their counts, without ids and times, in an order of their own."""
    said = [memory.model_dump(mode="json") for memory in (*heuristics(alma), *anti_patterns(alma))]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)


def shown(alma: ALMA, task: str, agent: str) -> list[dict[str, Any]]:
    """The rules as they are shown for a task, without ids and times, in an order of their own."""
    found = alma.retrieve(task, agent, top_k=100)
    said = [memory.model_dump(mode="json") for memory in (*found.heuristics, *found.anti_patterns)]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)
