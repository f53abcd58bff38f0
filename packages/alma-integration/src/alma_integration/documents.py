"""Converts memories to a framework's documents or nodes."""

from typing import Any

from alma.types.recalled import Recalled

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
