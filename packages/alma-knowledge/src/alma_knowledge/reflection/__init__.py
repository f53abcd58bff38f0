"""Reflection: what successful runs of like tasks did that failed ones did not, as lessons that later evidence keeps or retires."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_knowledge.reflection.results import Evidence, Lesson, ReflectionResult, Rejected

__all__ = ["Evidence", "Lesson", "ReflectionResult", "Rejected"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'alma_knowledge.reflection' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("alma_knowledge.reflection.results"), name)
    return value
