"""Facts and preferences of a slice that contradict each other: which is preferred, and in which order they are shown.

Memories are named by their place in the slice.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from alma.text import one_line, shortened
from alma.types.memories import DomainKnowledge, UserPreference
from alma.types.provenance import is_vouched_for
from alma.types.recalled import Contradiction, Disputes
from alma_knowledge.conflicts import Conflict, conflict
from alma_knowledge.marks import find_marked

Claimed = DomainKnowledge | UserPreference
Why = Literal["newer", "better sourced", "surer", "uncontradicted"]

SHORT = 120
"""Longest short form of a memory."""


def find_contradictions(memories: Sequence[Claimed]) -> Disputes:
    """Returns the contradictions among ranked memories, and their order: of those that contradict each other the preferred one comes first."""
    claimed = dict(enumerate(memories))
    conflicts = {
        (one, other): found
        for one, other in combinations(claimed, 2)
        if (found := _conflict(claimed[one], claimed[other])) is not None
    }
    best_first = sorted(
        {place for pair in conflicts for place in pair}, key=lambda place: _standing(claimed[place]), reverse=True
    )
    beaten = _beaten(best_first, conflicts)
    return Disputes(
        pairs=[_pair(claimed, one, other, found, beaten) for (one, other), found in conflicts.items()],
        beaten={claimed[place].id: (_why(claimed[by], claimed[place]), claimed[by].id) for place, by in beaten.items()},
        order=[claimed[place].id for place in _placed(list(claimed), best_first, conflicts, beaten)],
    )


def _conflict(one: Claimed, other: Claimed) -> Conflict | None:
    found = None
    if isinstance(one, DomainKnowledge) and isinstance(other, DomainKnowledge):
        if (one.agent, one.user_id) == (other.agent, other.user_id):
            found = conflict(one.fact, other.fact, labels=(one.domain, other.domain)) or find_marked(one, other)
    elif isinstance(one, UserPreference) and isinstance(other, UserPreference) and one.user_id == other.user_id:
        labels = one.category, other.category
        found = conflict(one.preference, other.preference, labels=labels, is_wish=True) or find_marked(one, other)
    return found


def _standing(memory: Claimed) -> tuple[Any, ...]:
    """Returns what makes a memory preferred: its source, then its time, then its confidence. The rest only decides ties, always alike."""
    return is_vouched_for(memory.source, memory.metadata), memory.seen_at, memory.confidence, memory.created_at, memory.id


def _beaten(best_first: Sequence[int], conflicts: Mapping[tuple[int, int], Conflict]) -> dict[int, int]:
    """Returns for each memory that a preferred one contradicts the best of these. What only a beaten one contradicts is not beaten."""
    beaten: dict[int, int] = {}
    for place, row in enumerate(best_first):
        better = (one for one in best_first[:place] if one not in beaten)
        by = next((one for one in better if (one, row) in conflicts or (row, one) in conflicts), None)
        if by is not None:
            beaten[row] = by
    return beaten


def _pair(claimed: Mapping[int, Claimed], one: int, other: int, found: Conflict, beaten: Mapping[int, int]) -> Contradiction:
    is_first = (one not in beaten, _standing(claimed[one])) > (other not in beaten, _standing(claimed[other]))
    first, second = (one, other) if is_first else (other, one)
    values = (found.mine, found.theirs) if is_first else (found.theirs, found.mine)
    return Contradiction(
        preferred_id=claimed[first].id,
        other_id=claimed[second].id,
        preferred=shortened(one_line(claimed[first].text), SHORT),
        other=shortened(one_line(claimed[second].text), SHORT),
        sort=found.sort,
        preferred_value=values[0],
        other_value=values[1],
        why=_why(claimed[first], claimed[second]),
    )


def _why(preferred: Claimed, other: Claimed) -> Why:
    better: tuple[Why, ...] = ("better sourced", "newer", "surer")
    for why, mine, theirs in zip(better, _standing(preferred), _standing(other), strict=False):
        if mine != theirs:
            return why if mine > theirs else "uncontradicted"
    return "newer"


def _placed(
    order: Sequence[int], best_first: Sequence[int], conflicts: Iterable[tuple[int, int]], beaten: Mapping[int, int]
) -> list[int]:
    """The same places: those of memories that contradict each other are filled with the preferred ones first."""
    groups: dict[int, set[int]] = {}
    for one, other in conflicts:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(joined, joined)
    rank = {row: (row in beaten, place) for place, row in enumerate(best_first)}
    placed, seen = list(order), set[int]()
    for group in groups.values():
        if seen.isdisjoint(group):
            seen |= group
            for place, row in zip(sorted(group), sorted(group, key=rank.__getitem__), strict=True):
                placed[place] = row
    return placed
