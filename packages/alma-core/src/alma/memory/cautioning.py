"""Checking an action before it is taken: does it match something that is known to fail?"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from alma.evidence import Tally
from alma.learning.matching import conflict, same_strategy
from alma.memory import arguments as args
from alma.memory.deference import RULES, is_own_rule, overruled
from alma.memory.nearby import near
from alma.memory.room import Room
from alma.memory.swaps import check_order
from alma.text import matched_text, normalised, one_line, shortened
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern
from alma.types.strategies import ActionCheck, ActionWarning
from alma.types.tags import defused

LEAST = 0.4
"""No anti-pattern whose pattern is below this cosine to the action is looked at."""

NEAR_ENOUGH = 0.55
"""From this cosine on an action is taken for the pattern, if it says no more than that and nothing in the words speaks against it."""

MOST = 8
TOLD_CHARS = 200


class _Match(NamedTuple):
    """An anti-pattern that an action matches, the cosine of its pattern alone, and the hash of its content."""

    pattern: AntiPattern
    cosine: float
    tie: int


def check(room: Room, *, agent: object, action: object) -> ActionCheck:
    """The anti-patterns that an action matches, the nearest first. Writes nothing, and forbids nothing."""
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    text = args.checked_text(action, "action")
    matching = _matching(room, reader, matched_text(text))
    behind = room.project.learned.behind(list(matching))

    def place(row: int) -> tuple[float, bool, bool, int, int]:
        found = matching[row]
        return -found.cosine, row not in behind, found.pattern.agent != reader, found.tie, -row

    ordered = sorted(matching, key=place)
    warnings = [_warning(matching[row], reader, behind[row].evidence.lifetime if row in behind else None) for row in ordered]
    return ActionCheck(agent=reader, action=text, warnings=tuple(_folded(warnings)[:MOST]))


def _matching(room: Room, reader: str, action: str) -> dict[int, _Match]:
    """The anti-patterns that match and that the reader does not know better, by row, each with the cosine of the pattern alone."""
    nearest = near(room, reader=reader, text=action, kinds={MemoryType.ANTI_PATTERN.value}, least=LEAST)
    ties = {item.memory: item.tie for item in nearest}
    cosines = {row: cosine for row, cosine in _cosines(room, action, list(ties)).items() if cosine >= LEAST}
    patterns = {row: memory for row, memory in room.project.memories(list(cosines)).items() if isinstance(memory, AntiPattern)}
    found = {
        row: _Match(pattern, cosines[row], ties[row])
        for row, pattern in patterns.items()
        if _matches(action, matched_text(pattern.pattern), cosines[row])
    }
    gone = _overruled(room, reader, action, [row for row, match in found.items() if match.pattern.agent != reader])
    return {row: match for row, match in found.items() if row not in gone}


def _overruled(room: Room, reader: str, action: str, shared: list[int]) -> set[int]:
    if not shared:
        return set()
    rows = [item.memory for item in near(room, reader=reader, text=action, kinds=RULES, least=LEAST)]
    partitions = room.project.partitions()
    own = [rule.memory for rule in room.project.candidates(rows) if is_own_rule(partitions[rule.partition], reader)]
    return overruled(room, shared, own, reader=reader)


def _matches(action: str, pattern: str, cosine: float) -> bool:
    return same_strategy(action, pattern, cosine) or (cosine >= NEAR_ENOUGH and conflict(action, pattern) is None)


def _cosines(room: Room, action: str, rows: Sequence[int]) -> dict[int, float]:
    """How near the pattern alone is, the first passage of each; what was found may have been found by its task."""
    vector = room.store.texts.query(action, room.project)
    scored = room.index.current().score(vector, memories=np.array(sorted(rows), dtype=np.int64))
    first: dict[int, tuple[int, float]] = {}
    for memory, passage, score in zip(scored.memories.tolist(), scored.passages.tolist(), scored.scores.tolist(), strict=True):
        first[memory] = min(first.get(memory, (passage, score)), (passage, score))
    return {memory: score for memory, (_, score) in first.items()}


def _folded(warnings: Iterable[ActionWarning]) -> list[ActionWarning]:
    """The first of all that warn of the same pattern."""
    said: dict[str, ActionWarning] = {}
    for warning in warnings:
        pattern = warning.anti_pattern.pattern
        said.setdefault(normalised(pattern) or pattern, warning)
    return list(said.values())


def _warning(match: _Match, reader: str, learned: Tally | None) -> ActionWarning:
    pattern = match.pattern
    shared = pattern.agent if pattern.agent != reader else None
    instead = f" Instead: {_short(pattern.better_alternative)}." if pattern.better_alternative else ""
    origin = f" (learned by {_short(shared)})" if shared else ""
    record = f"it failed {learned.failures:g} of {learned.trials:g} times" if learned else "stated, not learned"
    told = f"{_short(pattern.pattern)}: {_short(pattern.why_bad)}; {record}{origin}.{instead}"
    return ActionWarning(anti_pattern=pattern, similarity=match.cosine, told=defused(told), shared_from=shared)


def _short(text: str) -> str:
    return shortened(one_line(text), TOLD_CHARS)
