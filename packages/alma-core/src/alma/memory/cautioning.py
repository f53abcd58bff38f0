"""Checking an action before it is taken: does it match something that is known to fail?"""

import numpy as np

from alma.learning.matching import conflict, same_strategy
from alma.memory import arguments as args
from alma.memory.nearby import near
from alma.memory.room import Room
from alma.text import matched_text, one_line, shortened
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern
from alma.types.strategies import ActionCheck, ActionWarning

LEAST = 0.4
"""No anti-pattern below this cosine to the action is looked at; one may also be found by its task."""

NEAR_ENOUGH = 0.55
"""From this cosine on an action is taken for the pattern, if it says no more than that and nothing in the words speaks against it."""

MOST = 8
TOLD_CHARS = 200


def check(room: Room, *, agent: object, action: object) -> ActionCheck:
    """The anti-patterns that an action matches, the nearest first. Writes nothing, and forbids nothing."""
    reader = args.checked_name(agent, "agent")
    text = args.checked_text(action, "action")
    found = near(room, reader=reader, text=text, kinds={MemoryType.ANTI_PATTERN.value}, least=LEAST)[: 2 * MOST]
    kept = room.project.memories([item.memory for item in found])
    patterns = [memory for item in found if isinstance(memory := kept.get(item.memory), AntiPattern)]
    cosines = _cosines(room, text, [matched_text(pattern.pattern) for pattern in patterns])
    warnings = [
        _warning(pattern, cosine, reader)
        for pattern, cosine in zip(patterns, cosines, strict=True)
        if _matches(text, pattern.pattern, cosine)
    ]
    warnings.sort(key=lambda warning: (-warning.similarity, warning.anti_pattern.id))
    return ActionCheck(agent=reader, action=text, warnings=tuple(warnings[:MOST]))


def _matches(action: str, pattern: str, cosine: float) -> bool:
    return same_strategy(action, pattern, cosine) or (cosine >= NEAR_ENOUGH and conflict(action, pattern) is None)


def _cosines(room: Room, action: str, patterns: list[str]) -> list[float]:
    """How near each pattern alone is; what was found may have been found by its task."""
    stored = room.project.vectors(patterns)
    vector = room.store.texts.query(action, room.project)
    return [
        float(np.frombuffer(stored[pattern], dtype="<f2").astype(np.float32) @ vector) if pattern in stored else 0.0
        for pattern in patterns
    ]


def _warning(pattern: AntiPattern, cosine: float, reader: str) -> ActionWarning:
    shared = pattern.agent if pattern.agent != reader else None
    instead = f" Instead: {_short(pattern.better_alternative)}." if pattern.better_alternative else ""
    origin = f" (learned by {shared})" if shared else ""
    trials = pattern.occurrence_count + pattern.success_count
    record = (
        f"it failed {pattern.occurrence_count} of {trials} times" if pattern.metadata.get("learned") else "stated, not learned"
    )
    told = f"{_short(pattern.pattern)}: {_short(pattern.why_bad)}; {record}{origin}.{instead}"
    return ActionWarning(anti_pattern=pattern, similarity=cosine, told=told, shared_from=shared)


def _short(text: str) -> str:
    return shortened(one_line(text), TOLD_CHARS)
