"""Facts and preferences of a slice that contradict each other, found by a package that knows how (`alma.protocols.FindContradictions`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

from alma.errors import ConfigurationError
from alma.memory.room import OpenStore
from alma.protocols import FindContradictions
from alma.retrieval.ranking import Ranked
from alma.text import spelt
from alma.types.contradictions import Contradiction, Disputes
from alma.types.memories import AnyMemory, DomainKnowledge, UserPreference
from alma.types.provenance import is_vouched_for

ENTRY_POINTS = "alma.contradictions"

Claimed = DomainKnowledge | UserPreference


@dataclass(frozen=True, slots=True)
class Disputed:
    """The contradictions in a slice. `dispreferred` has what speaks against each memory, by row: why the other is preferred, and its id."""

    pairs: Sequence[Contradiction]
    dispreferred: Mapping[int, tuple[str, str]]
    order: Sequence[Ranked]


def disputed(store: OpenStore, order: Sequence[Ranked], memories: Mapping[int, AnyMemory], *, verified: bool) -> Disputed:
    """Returns the contradictions among ranked memories, and the order in which these are shown. With `verified` those are left out to which another
    one is preferred."""
    claimed = [memory for item in order if isinstance(memory := memories[item.memory], Claimed)]
    if len(claimed) < 2:
        return Disputed((), {}, order)
    if store.find_contradictions is None:
        store.find_contradictions = _installed()
    found = store.find_contradictions(claimed)
    items = {memories[item.memory].id: item for item in order}
    dispreferred = {items[one].memory: why for one, why in found.beaten.items()}
    facts = iter(found.order)
    placed = [items[next(facts)] if isinstance(memories[item.memory], Claimed) else item for item in order]
    return Disputed(
        [pair.model_copy(update={"is_left_out": verified}) for pair in found.pairs],
        dispreferred,
        [item for item in placed if not (verified and item.memory in dispreferred)],
    )


def _installed() -> FindContradictions:
    """The first by name of what is installed; `newest_first` without any."""
    for plugin in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            finder: FindContradictions = plugin.load()
        except ImportError as error:
            raise ConfigurationError(f"contradictions: {plugin.name!r} ({plugin.value}) could not be loaded: {error}") from error
        return finder
    return newest_first


def newest_first(memories: Sequence[Claimed]) -> Disputes:
    """Returns no contradiction. Facts of one domain, and preferences of one category, take their places with the newest first; those for which no
    one vouches come behind the others."""
    newest = sorted(memories, key=lambda memory: (is_vouched_for(memory.source, memory.metadata), memory.seen_at), reverse=True)
    subjects = [_subject(memory) for memory in memories]
    queues = {subject: iter([memory.id for memory in newest if _subject(memory) == subject]) for subject in set(subjects)}
    return Disputes((), {}, [next(queues[subject]) for subject in subjects])


def _subject(memory: Claimed) -> tuple[str, str, str | None, str]:
    label = memory.domain if isinstance(memory, DomainKnowledge) else memory.category
    return memory.kind, memory.agent, memory.user_id, spelt(label)
