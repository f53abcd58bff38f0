"""The lines of a wake-up text, in the order of their importance, with dates but no ages, so that they stay the same over time."""

from collections.abc import Iterator

from alma import ALMA
from alma.errors import MemoryNotFoundError
from alma.types import AntiPattern, AnyMemory, DomainKnowledge, Heuristic, UserPreference
from alma.types.rule_lines import note_on_tasks
from alma_harness.fitting import line_of
from alma_harness.quick_reload import handoff_lines
from alma_harness.session import SessionManager
from alma_integration import note

MOST_LISTED = 2_000
MOST_LESSONS = 5
SEARCHED = 100
MOST_PREFERENCES = 10
MOST_FACTS = 10
MOST_OF_HANDOFF = 8


def essential_lines(alma: ALMA, agent: str, user_id: str | None, domain: str | None = None) -> Iterator[str]:
    """Yields the strongest lessons of an agent, the last hand-off, the user's preferences and the newest facts."""
    yield from _lines(alma, "Lesson", _lessons(alma, agent, user_id), agent, user_id, MOST_LESSONS)
    handoff = SessionManager(alma=alma).last_handoff(agent, user_id=user_id)
    if handoff is not None:
        yield from list(handoff_lines(handoff))[:MOST_OF_HANDOFF]
    if user_id is not None:
        yield from _lines(alma, "Preference", _preferences(alma, user_id), agent, user_id, MOST_PREFERENCES)
    facts = alma.list_memories("domain_knowledge", agent, limit=MOST_LISTED)
    chosen = [one for one in facts if domain is None or getattr(one, "domain", None) == domain]
    yield from _lines(alma, "Fact", chosen, agent, user_id, MOST_FACTS)


def _preferences(alma: ALMA, user_id: str) -> list[AnyMemory]:
    return alma.list_memories("user_preference", user_id=user_id, limit=MOST_LISTED)


def _lessons(alma: ALMA, agent: str, user_id: str | None) -> list[AnyMemory]:
    """Returns rules and warnings, those with the most evidence first."""
    kinds = "heuristic", "anti_pattern"
    found = [one for kind in kinds for one in alma.list_memories(kind, agent, user_id, limit=MOST_LISTED)]
    return sorted(found, key=lambda one: (-_strength(one), one.id))


def _strength(memory: AnyMemory) -> float:
    """Returns the lower bound of how often the lesson held: evidence minus what one more contrary case would take."""
    if isinstance(memory, Heuristic):
        return memory.success_count / (memory.occurrence_count + 2)
    if isinstance(memory, AntiPattern):
        return memory.occurrence_count / (memory.occurrence_count + memory.success_count + 2)
    return 0.0


def _lines(alma: ALMA, label: str, memories: list[AnyMemory], agent: str, user_id: str | None, most: int) -> Iterator[str]:
    """Yields the lines of the first memories that the agent, working for the user, may read."""
    readable = (one for one in memories if _is_readable(alma, one, agent, user_id))
    for _, memory in zip(range(most), readable, strict=False):
        since = f" ({memory.seen_at:%Y-%m-%d %H:%M})" if isinstance(memory, DomainKnowledge | UserPreference) else ""
        said = note_on_tasks(memory) if isinstance(memory, Heuristic | AntiPattern) else note(memory, None)
        yield line_of(f"{label}{since}", said)


def _is_readable(alma: ALMA, memory: AnyMemory, agent: str, user_id: str | None) -> bool:
    if memory.user_id not in (None, user_id):
        return False
    try:
        alma.get(memory.id, agent=agent, user_id=user_id)
    except MemoryNotFoundError:
        return False
    is_stated_rule = isinstance(memory, Heuristic | AntiPattern) and not memory.metadata.get("learned")
    return not is_stated_rule or _is_retrieved(alma, memory, agent, user_id)


def _is_retrieved(alma: ALMA, memory: AnyMemory, agent: str, user_id: str | None) -> bool:
    """Returns whether a search for the lesson itself returns it: one that rests on other users alone may be closed to this reader."""
    task = memory.condition if isinstance(memory, Heuristic) else memory.text
    kind = memory.condition.partition(":")[0] if isinstance(memory, Heuristic) else None
    return memory.id in alma.retrieve(task, agent, user_id=user_id, task_type=kind, top_k=SEARCHED).ids
