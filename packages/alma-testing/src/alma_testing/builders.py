"""Builders of values for tests: fields that a test does not give have sane defaults."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from alma.types.kinds import Verdict
from alma.types.memories import AntiPattern, AnyMemory, DomainKnowledge, Heuristic, Outcome, UserPreference
from alma.types.slice import MemorySlice, ranked
from alma_testing.clocks import START

if TYPE_CHECKING:
    from alma.protocols import VectorChanges

_SHARED = {"created_at": START, "updated_at": START}
_OWNED = {**_SHARED, "agent": "agent"}


def make_outcome(**fields: Any) -> Outcome:
    """Returns a success of `agent` at a task, at the time `START`."""
    defaults: dict[str, Any] = {
        "task_description": "Deploy the service",
        "strategy_used": "Blue-green",
        "outcome": Verdict.SUCCESS,
        "timestamp": START,
    }
    return Outcome(**{**_OWNED, **defaults, **fields})


def make_heuristic(**fields: Any) -> Heuristic:
    """Returns a strategy that worked 4 of 5 times."""
    defaults: dict[str, Any] = {
        "condition": "Deploying a service",
        "strategy": "Blue-green, and watch the error rate",
        "occurrence_count": 5,
        "success_count": 4,
        "last_validated": START,
    }
    return Heuristic(**{**_OWNED, **defaults, **fields})


def make_anti_pattern(**fields: Any) -> AntiPattern:
    """Returns an anti-pattern with a better alternative."""
    defaults: dict[str, Any] = {
        "pattern": "Waiting with sleep in a test",
        "why_bad": "Slow, and it fails on a busy machine",
        "better_alternative": "Wait for the event itself",
        "last_seen": START,
    }
    return AntiPattern(**{**_OWNED, **defaults, **fields})


def make_domain_knowledge(**fields: Any) -> DomainKnowledge:
    """Returns a fact."""
    defaults: dict[str, Any] = {"domain": "auth", "fact": "Tokens live for a day", "last_verified": START}
    return DomainKnowledge(**{**_OWNED, **defaults, **fields})


def make_user_preference(**fields: Any) -> UserPreference:
    """Returns a preference of the user `user`."""
    defaults: dict[str, Any] = {"user_id": "user", "category": "style", "preference": "Short answers", "timestamp": START}
    return UserPreference(**{**_SHARED, **defaults, **fields})


def make_slice(memories: Iterable[AnyMemory] = (), **fields: Any) -> MemorySlice:
    """Returns the memories as a retrieval returns them, best first, each with a score slightly below the one before."""
    defaults: dict[str, Any] = {"query": "Deploy", "agent": "agent", "project_id": "test", "retrieved_at": START}
    return MemorySlice(**{**defaults, "recalled": ranked(list(memories)), **fields})


def make_vector_changes(upto: int, vectors: Any = (), *, dimension: int, first: int = 0, **arrays: Any) -> "VectorChanges":
    """Returns changes for a vector index up to `upto`: a passage for each of the vectors, and the rows that are `removed`.

    Passages are numbered from `first` on; each is a memory of that number, in partition 0, its owner's own, with its number as tie,
    unless `passages`, `memories`, `partitions`, `is_own` or `ties` say otherwise: an array, or one value for all.
    """
    import numpy as np

    from alma.protocols import VectorChanges

    rows = np.asarray(vectors, dtype=np.float16).reshape(-1, dimension)
    if unknown := set(arrays) - {"passages", "memories", "partitions", "is_own", "ties", "removed"}:
        raise TypeError(f"there are no changes called {sorted(unknown)}")
    numbers = np.asarray(arrays.get("passages", np.arange(first, first + len(rows))), dtype=np.int64)

    def column(name: str, default: Any, kind: Any) -> Any:
        return np.array(np.broadcast_to(np.asarray(arrays.get(name, default), dtype=kind), numbers.shape))

    return VectorChanges(
        upto=upto,
        passages=numbers,
        memories=column("memories", numbers, np.int64),
        partitions=column("partitions", 0, np.int64),
        is_own=column("is_own", True, np.bool_),
        ties=column("ties", numbers, np.int64),
        vectors=rows,
        removed=np.asarray(arrays.get("removed", ()), dtype=np.int64),
    )
