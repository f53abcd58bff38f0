"""ALMA: a memory layer that lets agents learn from what happened.

Importing this module loads nothing heavy; the module behind a name is loaded when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma.aio import AsyncALMA
    from alma.episode import Episode
    from alma.errors import (
        AlmaError,
        ConfigurationError,
        ConflictError,
        CorruptStoreError,
        EmbedderMismatchError,
        EmbeddingError,
        MemoryNotFoundError,
        MissingDependencyError,
        ScopeViolationError,
        StorageError,
        ValidationError,
    )
    from alma.memory.alma import ALMA
    from alma.storage.relational.session import lock_timeout
    from alma.types import (
        AntiPattern,
        CustomMemory,
        CustomMemoryType,
        DomainKnowledge,
        Draft,
        EpisodeRecord,
        FeedbackSignal,
        Heuristic,
        MemoryScope,
        MemorySlice,
        MemoryType,
        Outcome,
        Passage,
        TemporalFilter,
        UserPreference,
        Verdict,
    )
    from alma.types import ImportanceDetector as ImportanceDetector

__version__ = "0.1.0"

_HOMES = {
    "ALMA": "alma.memory.alma",
    "AsyncALMA": "alma.aio",
    "Context": "alma.harness",
    "create_harness": "alma.harness",
    "Episode": "alma.episode",
    "ImportanceDetector": "alma.types",
    "lock_timeout": "alma.storage.relational.session",
}
"""Modules of names. Of the others in `__all__`, errors are in `alma.errors`, values in `alma.types`."""

__all__ = [
    "ALMA",
    "AlmaError",
    "AntiPattern",
    "AsyncALMA",
    "ConfigurationError",
    "ConflictError",
    "CorruptStoreError",
    "CustomMemory",
    "CustomMemoryType",
    "DomainKnowledge",
    "Draft",
    "EmbedderMismatchError",
    "EmbeddingError",
    "Episode",
    "EpisodeRecord",
    "FeedbackSignal",
    "Heuristic",
    "MemoryNotFoundError",
    "MemoryScope",
    "MemorySlice",
    "MemoryType",
    "MissingDependencyError",
    "Outcome",
    "Passage",
    "ScopeViolationError",
    "StorageError",
    "TemporalFilter",
    "UserPreference",
    "ValidationError",
    "Verdict",
    "lock_timeout",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name) or ("alma.errors" if name.endswith("Error") else "alma.types")
    if name not in _HOMES and name not in __all__:
        raise AttributeError(f"module 'alma' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
