"""Knowledge of an agent, put in order: facts and preferences that contradict each other, and which of them is preferred.

Nothing is loaded before it is used: a command of this package stands in `alma --help`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_knowledge.conflicts import Conflict, conflict
    from alma_knowledge.contradictions import find_contradictions

_HOMES = {"Conflict": "conflicts", "conflict": "conflicts", "find_contradictions": "contradictions"}

__all__ = ["Conflict", "conflict", "find_contradictions"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_knowledge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_knowledge.{_HOMES[name]}"), name)
    return value
