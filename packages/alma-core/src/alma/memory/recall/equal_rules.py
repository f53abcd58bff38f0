"""Rules that say the same of the same tasks are shown once: what failed as a step of attempts often failed as the attempt, too."""

from collections.abc import Mapping, Sequence

from alma.memory.recall.relevant_rules import RULES
from alma.retrieval.ranking import Ranked
from alma.text import spelt
from alma.types.memories import AntiPattern, AnyMemory, Heuristic


def folded(order: Sequence[Ranked], memories: Mapping[int, AnyMemory]) -> dict[int, int]:
    """The memories to be left out, each with the one that stands for it: the one that names an alternative, then the one seen more often."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for item in order:
        memory = memories.get(item.memory)
        if item.kind in RULES and isinstance(memory, Heuristic | AntiPattern):
            groups.setdefault(_said(memory), []).append(item.memory)
    result: dict[int, int] = {}
    for rows in groups.values():
        best = max(rows, key=lambda row: _worth(memories[row]))
        result |= {row: best for row in rows if row != best}
    return result


def _said(rule: Heuristic | AntiPattern) -> tuple[str, ...]:
    what = rule.strategy if isinstance(rule, Heuristic) else rule.pattern
    where = rule.condition if isinstance(rule, Heuristic) else ""
    return rule.kind, rule.agent, spelt(what), spelt(str(rule.metadata.get("task", where)))


def _worth(rule: AnyMemory) -> tuple[bool, int]:
    if isinstance(rule, AntiPattern):
        return rule.better_alternative is not None, rule.occurrence_count
    return False, rule.occurrence_count if isinstance(rule, Heuristic) else 0
