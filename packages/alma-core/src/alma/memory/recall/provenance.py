"""Where a memory comes from, with what the records of its attempt and the outcomes behind a rule add."""

from collections import Counter
from typing import Any

from alma.memory.recall.supporting_outcomes import outcomes_behind
from alma.memory.room import Room
from alma.types.episodes import EPISODE, STEP
from alma.types.memories import AnyMemory
from alma.types.provenance import MemoryProvenance, provenance_of

MOST_OUTCOMES = 100


def provenance(room: Room, memory: AnyMemory, *, counts: bool = True) -> MemoryProvenance:
    """Returns where a memory comes from. `counts` says whether the outcomes behind a learned rule are counted, which takes longest."""
    found = provenance_of(memory)
    added: dict[str, Any] = {}
    if found.episode_id is not None:
        added = _of_attempt(room, found)
    if counts and found.is_learned:
        sources = Counter(one.verdict_source for one in outcomes_behind(room, memory_id=memory.id, limit=MOST_OUTCOMES))
        added["learned_from"] = dict(sorted(sources.items(), key=lambda item: (-item[1], item[0])))
    return found.model_copy(update=added)


def _of_attempt(room: Room, found: MemoryProvenance) -> dict[str, Any]:
    """The run, session and tool of the episode that a memory was made in."""
    key = found.episode_id or ""
    with room.project.moment():
        _, opening = room.project.record(EPISODE, [key])[key]
        step_key = f"{key}/{found.step}"
        _, step = room.project.record(STEP, [step_key])[step_key] if found.step is not None else (0, {})
    return {
        "run_id": opening.get("run_id"),
        "session_id": found.session_id or opening.get("thread_id"),
        "tool": found.tool or step.get("tool"),
    }
