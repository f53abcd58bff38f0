"""Converts memories to a framework's documents or nodes."""

from typing import Any

from alma.types.recalled import Recalled
from alma.types.slice import MemorySlice
from alma.types.strategies import StrategyRecord

WAY = "strategy"
"""`memory_type` of the document of a way that was tried and is no rule."""

_KEPT_APART = {"id", "metadata", "agent", "confidence", "created_at", "updated_at", "project_id"}


def document_metadata(item: Recalled) -> dict[str, Any]:
    """Returns the data of a memory beside its text, as JSON values.

    `memory_type`, `tag`, `score` and its `score_breakdown`, `confidence`, `agent`, `created_at`; `fields` has the memory's own fields
    (strategy, why_bad, better_alternative and so on), `metadata` the memory's metadata.
    """
    memory = item.memory
    plain = memory.model_dump(mode="json")
    return {
        "memory_type": str(memory.kind),
        "tag": item.tag,
        "score": item.score,
        "score_breakdown": item.factors.model_dump(mode="json"),
        "confidence": memory.confidence,
        "agent": memory.agent,
        "created_at": memory.created_at.isoformat(),
        "fields": {name: value for name, value in plain.items() if name not in _KEPT_APART and value is not None},
        "metadata": plain.get("metadata") or {},
    }


def documented(memories: MemorySlice) -> MemorySlice:
    """Returns the slice as documents show it: its memories, or where there are none the ways that were tried."""
    return memories.model_copy(update={"strategies": ()}) if memories.recalled else memories


def way_metadata(way: StrategyRecord) -> dict[str, Any]:
    """Returns the data of a way that was tried, in the form of `document_metadata`; its score is the rate of success to expect."""
    fields = {"strategy", "trials", "successes", "partials", "unverified", "tasks", "last_run", "why_bad", "better_alternative"}
    plain = way.model_dump(mode="json", include=fields)
    return {
        "memory_type": WAY,
        "tag": way.tag,
        "score": way.expected,
        "score_breakdown": {},
        "confidence": way.expected,
        "agent": way.agent,
        "created_at": way.last_used.isoformat(),
        "fields": {name: value for name, value in plain.items() if value is not None},
        "metadata": {},
    }
