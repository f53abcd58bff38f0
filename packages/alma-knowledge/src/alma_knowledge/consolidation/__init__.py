"""Consolidation: stated memories that say the same become one; what speaks against it keeps them apart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_knowledge.consolidation.engine import ConsolidationEngine
    from alma_knowledge.consolidation.results import Apart, ConsolidationError, ConsolidationResult, Merge
    from alma_knowledge.consolidation.reviewing import UnsurePair, judge_pair, list_unsure

_HOMES = {
    "ConsolidationEngine": "engine",
    **dict.fromkeys(("Apart", "ConsolidationError", "ConsolidationResult", "Merge"), "results"),
    **dict.fromkeys(("UnsurePair", "judge_pair", "list_unsure"), "reviewing"),
}

__all__ = [
    "Apart",
    "ConsolidationEngine",
    "ConsolidationError",
    "ConsolidationResult",
    "Merge",
    "UnsurePair",
    "judge_pair",
    "list_unsure",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_knowledge.consolidation' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_knowledge.consolidation.{_HOMES[name]}"), name)
    return value
