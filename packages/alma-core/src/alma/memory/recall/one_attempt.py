"""One attempt is shown once: of what failed, what repaired it and how the whole went, one outcome stands for all.

For display only: nothing that is stored or learned follows from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alma.retrieval.ranking import Ranked
from alma.text import shortened
from alma.types.kinds import MemoryType, Verdict
from alma.types.memories import AnyMemory, Outcome
from alma.types.sentences import ATTEMPT, ends_with

MOST_LISTED = 3
"""Limit on the failures, and on the repairs, that are listed of an attempt."""

LISTED_CHARS = 120


Folds = Mapping[int, int]
"""Outcomes to be left out, by row, each with the one that stands for its attempt."""


def attempts_folded(order: Sequence[Ranked], memories: Mapping[int, AnyMemory]) -> Folds:
    """The outcomes to be left out, each with the one that stands for its attempt: the run's own if it was judged, else a step that failed."""
    result: dict[int, int] = {}
    for rows in _attempts(order, memories).values():
        best = max(rows, key=lambda row: _worth(memories[row]))
        folds = _is_step(memories[best])
        result |= {row: best for row in rows if row != best and (folds or _is_step(memories[row]))}
    return result


def any_of_attempt(memories: Iterable[AnyMemory]) -> bool:
    """Returns True if there is an outcome of an episode, or of a step in one."""
    for memory in memories:  # noqa: SIM110 - every question passes here, and a generator is entered for each memory
        if isinstance(memory, Outcome) and isinstance(memory.metadata.get("episode_id"), str):
            return True
    return False


def refilled(order: Sequence[Ranked], memories: Mapping[int, AnyMemory], known: Folds, top_k: int) -> Folds:
    """As `attempts_folded`, of more outcomes than are shown: those behind stand for an attempt only if nothing before them does.

    `known` is what is folded among the first `top_k`. What is not among them and has no place is not folded.
    """
    outcomes = [item for item in order if item.kind == MemoryType.OUTCOME]
    first = {item.memory for item in outcomes[:top_k]}
    result, left = dict(known), top_k - len(first) + len(known)
    stands: dict[tuple[str, str], int] = {}
    for item in outcomes:
        attempt = _attempt_of(memories.get(item.memory))
        if item.memory in first:
            if attempt is not None and item.memory not in known:
                stands.setdefault(attempt, item.memory)
        elif attempt in stands and _folds(memories, item.memory, stands[attempt]):
            result[item.memory] = stands[attempt]
        elif left:
            left -= 1
            if attempt is not None:
                stands.setdefault(attempt, item.memory)
    return result


def with_attempts(memories: Mapping[int, AnyMemory], folds: Folds) -> dict[int, AnyMemory]:
    """The outcomes that stand for an attempt, with what its other outcomes say: what failed in it, and what then worked."""
    groups: dict[int, list[Outcome]] = {}
    for row, best in folds.items():
        if isinstance(memory := memories.get(row), Outcome):
            groups.setdefault(best, []).append(memory)
    return {best: _with_parts(memories[best], sorted(parts, key=_number)) for best, parts in groups.items()}


def _with_parts(memory: AnyMemory, parts: Sequence[Outcome]) -> AnyMemory:
    steps = [part for part in parts if _is_step(part)]
    failed = [_described(step) for step in steps if step.outcome is Verdict.FAILURE and not _says_the_same(step, memory)]
    worked = [step.strategy_used for step in steps if step.outcome is Verdict.SUCCESS]
    known = {memory.strategy_used} if isinstance(memory, Outcome) else set()
    said: dict[str, Any] = {
        "failed": failed[:MOST_LISTED],
        "worked": [shortened(way, LISTED_CHARS) for way in dict.fromkeys(worked) if way and way not in known][:MOST_LISTED],
    }
    flags = [part.metadata["flagged"] for part in parts if part.metadata.get("flagged")]
    flagged = {"flagged": flags[0]} if flags else {}
    return memory.model_copy(update={"metadata": {**memory.metadata, **flagged, ATTEMPT: said}})


def _says_the_same(step: Outcome, memory: AnyMemory) -> bool:
    """Returns True if the run failed by this step, and says so itself."""
    own = (memory.strategy_used, memory.error_message) if isinstance(memory, Outcome) else None
    return own == (step.strategy_used, step.error_message)


def _described(step: Outcome) -> str:
    what, error = shortened(step.strategy_used, LISTED_CHARS), step.error_message
    return f"{what} ({shortened(error, LISTED_CHARS)})" if error and not ends_with(step.strategy_used, error) else what


def _attempts(order: Sequence[Ranked], memories: Mapping[int, AnyMemory]) -> Mapping[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for item in order:
        attempt = _attempt_of(memories.get(item.memory)) if item.kind == MemoryType.OUTCOME else None
        if attempt is not None:
            found.setdefault(attempt, []).append(item.memory)
    return found


def _attempt_of(memory: AnyMemory | None) -> tuple[str, str] | None:
    episode = memory.metadata.get("episode_id") if isinstance(memory, Outcome) else None
    return (memory.agent, episode) if memory is not None and isinstance(episode, str) else None


def _folds(memories: Mapping[int, AnyMemory], row: int, best: int) -> bool:
    return _is_step(memories[row]) or _is_step(memories[best])


def _is_step(memory: AnyMemory) -> bool:
    return isinstance(memory.metadata.get("step"), int)


def _number(step: Outcome) -> int:
    number = step.metadata.get("step")
    return number if isinstance(number, int) else 0


def _worth(memory: AnyMemory) -> int:
    """A judged run, then a step that failed, then one that went well, then a run without a verdict."""
    if not isinstance(memory, Outcome):
        return 0
    if not _is_step(memory):
        return 0 if memory.outcome is Verdict.UNVERIFIED else 3
    return 2 if memory.outcome is Verdict.FAILURE else 1
