"""Helpers that read what a project has learned: its rules, and the counts of ways."""

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


def counts(alma: ALMA, agent: str | None = None) -> dict[str, tuple[float, float]]:
    """Successes and judged trials of all outcomes, archived ones included, by strategy."""
    project = alma._room.project
    found: dict[str, tuple[float, float]] = {}
    for one in project.outcomes(project.partitions()):
        strategy = one.body.get("strategy_used")
        if strategy and one.successes is not None and agent in (None, one.partition.agent):
            successes, trials = found.get(strategy, (0, 0))
            found[strategy] = successes + one.successes, trials + 1
    return found


def told(alma: ALMA) -> list[dict[str, Any]]:
    """The rules and their counts, without ids and times, in an order of their own."""
    said = [memory.model_dump(mode="json") for memory in (*heuristics(alma), *anti_patterns(alma))]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)


def shown(alma: ALMA, task: str, agent: str) -> list[dict[str, Any]]:
    """The rules as they are shown for a task, without ids and times, in an order of their own."""
    found = alma.retrieve(task, agent, top_k=100)
    said = [memory.model_dump(mode="json") for memory in (*found.heuristics, *found.anti_patterns)]
    return sorted(({name: value for name, value in one.items() if name not in HIDDEN} for one in said), key=str)
