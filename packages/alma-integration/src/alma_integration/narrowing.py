"""Narrows what a retriever finds to the memories that its user wants."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import inf

from alma import ALMA
from alma.errors import ConfigurationError
from alma.memory.arguments import checked_items, checked_name
from alma.text import quoted
from alma.types.kinds import MemoryType, Verdict
from alma.types.memories import Outcome
from alma.types.recalled import Recalled
from alma.types.sentences import of_attempt
from alma.types.slice import MemorySlice, tags_for
from alma.types.strategies import TRIED
from alma_integration.parts import holding

WIDER = 10
"""With a filter that ALMA does not search by, this many times as many memories of each kind are examined."""
WIDEST = 1_000
"""Limit on the memories of each kind that are examined with a filter."""


def checked_names(names: object, name: str) -> frozenset[str]:
    """Returns several names. A bare text is an error."""
    return frozenset(checked_name(each, name) for each in checked_items(names, name))


def checked_kinds(kinds: object, name: str, alma: ALMA) -> frozenset[str]:
    """Returns kinds of memories, built in or registered in the project. `ConfigurationError` for any other."""
    names = checked_names(kinds, name)
    known = [*MemoryType, *(alma.memory_types() if names - set(MemoryType) else ())]
    if unknown := sorted(names - set(known)):
        raise ConfigurationError(
            f"{name} holds {quoted(unknown[0])}, which is no kind in project {alma.project_id!r}; there are {', '.join(known)}"
        )
    return names


def says_something(item: Recalled) -> bool:
    """Returns False for the outcome of a run that did not fail and of which nothing but its task is known, as of a chat that was judged: what to
    do and what to avoid is not in it."""
    memory = item.memory
    if not isinstance(memory, Outcome) or memory.outcome is Verdict.FAILURE or "episode_id" not in memory.metadata:
        return True
    return bool(memory.strategy_used or memory.error_message or memory.user_feedback or any(of_attempt(memory.metadata)))


def examined(limit: int, wanted: Callable[[Recalled], bool] | None) -> int:
    """Returns how many memories of each kind to search for, so that enough of them are wanted."""
    return limit if wanted is None else max(limit, min(limit * WIDER, WIDEST))


def narrowed(
    found: MemorySlice,
    *,
    limit: int,
    min_score: float | None = None,
    kinds: Collection[str] | None = None,
    wanted: Callable[[Recalled], bool] | None = None,
) -> MemorySlice:
    """Returns the memories of these kinds that have the score and are wanted, of the wanted ones at most `limit` of each kind, with new
    tags. Ways that are no rules stay among outcomes, unless it is asked which memories are wanted; their score is the rate of success to
    expect, as in documents."""
    if min_score is None and kinds is None and wanted is None:
        return found
    least = -inf if min_score is None else min_score
    counts, kept = Counter[str](), list[Recalled]()
    for item in found.recalled:
        kind = item.memory.kind
        if item.score < least or (kinds is not None and kind not in kinds) or (wanted is not None and not wanted(item)):
            continue
        counts[kind] += 1
        if wanted is None or counts[kind] <= limit:
            kept.append(item)
    has_ways = wanted is None and (kinds is None or MemoryType.OUTCOME in kinds)
    ways = tuple(way for way in found.strategies if way.rule != TRIED or (has_ways and way.expected >= least))
    return _numbered(found.model_copy(update={"strategies": ways}), kept)


def telling_first(found: MemorySlice, limit: int) -> MemorySlice:
    """Returns at most `limit` memories of each kind, with new tags: those that say something first, others in the places that are left."""
    counts, kept = Counter[str](), set[str]()
    for item in sorted(found.recalled, key=says_something, reverse=True):
        counts[item.memory.kind] += 1
        if counts[item.memory.kind] <= limit:
            kept.add(item.memory.id)
    return _numbered(found, [item for item in found.recalled if item.memory.id in kept])


def _numbered(found: MemorySlice, kept: Sequence[Recalled]) -> MemorySlice:
    tags = tags_for([item.memory for item in kept])
    return holding(found, (item.model_copy(update={"tag": tag}) for item, tag in zip(kept, tags, strict=True)))
