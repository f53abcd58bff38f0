"""Heuristics that were stated and cited, but never tried under their own name: how the attempts went in which they were cited."""

from collections.abc import Iterable, Mapping
from typing import Any

from alma.protocols import Candidate
from alma.types.memories import AnyMemory, Heuristic
from alma.types.sentences import CITED


def with_citations(memories: Mapping[int, AnyMemory], seen: Iterable[Candidate]) -> dict[int, AnyMemory]:
    """Returns the heuristics without a trial of their own, with what is known of their citations. Only that is said, whatever was stored."""
    result: dict[int, AnyMemory] = {}
    for row, memory in memories.items():
        if isinstance(memory, Heuristic) and not memory.occurrence_count:
            one = next((one for one in seen if one.memory == row and one.used and one.credited_trials > 0), None)
            if one is not None or CITED in memory.metadata:
                result[row] = _with(memory, None if one is None else _said(one))
    return result


def _said(one: Candidate) -> dict[str, float]:
    return {"times": one.used, "share": one.credited_successes / one.credited_trials}


def _with(memory: Heuristic, said: Mapping[str, float] | None) -> Heuristic:
    metadata: dict[str, Any] = {key: value for key, value in memory.metadata.items() if key != CITED}
    return memory.model_copy(update={"metadata": metadata if said is None else {**metadata, CITED: dict(said)}})
