"""Lessons of the demonstration as plain values: rules, strategies and success over runs."""

from typing import TYPE_CHECKING, Any

from alma_cli.replay import AGENT

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import AntiPattern, Heuristic

MOST = 500


def lessons(alma: "ALMA") -> dict[str, Any]:
    """Returns the rules that were formed, one of each kind as text, the strategies that have a verdict, and success over runs."""
    from alma.types.strategies import Judgement

    heuristics, anti_patterns = _heuristics(alma), _anti_patterns(alma)
    tried = alma.strategies(agent=AGENT, limit=MOST).rows
    decided = [row for row in tried if row.verdict not in (Judgement.UNDECIDED, Judgement.UNKNOWN)]
    return {
        "heuristics": len(heuristics),
        "anti_patterns": len(anti_patterns),
        "heuristic": _note(alma, max(heuristics, key=_weight, default=None)),
        "anti_pattern": _note(alma, max(anti_patterns, key=_weight, default=None)),
        "strategies": len(tried),
        "decided": [row.model_dump(mode="json") for row in decided],
        "runs": [group.model_dump(mode="json") for group in alma.overview(verify=False).learning.runs],
    }


def _heuristics(alma: "ALMA") -> "list[Heuristic]":
    from alma.types import Heuristic

    return [memory for memory in alma.list_memories("heuristic", AGENT, limit=MOST) if isinstance(memory, Heuristic)]


def _anti_patterns(alma: "ALMA") -> "list[AntiPattern]":
    from alma.types import AntiPattern

    return [memory for memory in alma.list_memories("anti_pattern", AGENT, limit=MOST) if isinstance(memory, AntiPattern)]


def _weight(rule: "Heuristic | AntiPattern") -> tuple[bool, float, str]:
    """Sort key: a rule with an alternative is more informative, then a surer one."""
    return bool(getattr(rule, "better_alternative", None)), rule.confidence, rule.text


def _note(alma: "ALMA", rule: "Heuristic | AntiPattern | None") -> str | None:
    """Returns the rule as a prompt shows it."""
    from alma.types.prompt import note

    return None if rule is None else note(rule, max(rule.seen_at, rule.updated_at))
