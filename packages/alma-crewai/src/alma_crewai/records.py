"""ALMA's memories as CrewAI's records, and the paths that CrewAI files them under."""

from datetime import UTC, datetime
from typing import Any

from crewai.memory.types import MemoryRecord

from alma.types import AnyMemory
from alma.types.identity import utc_now
from alma.types.prompt import note

SCOPE, SOURCE, PRIVATE, CATEGORIES = "crewai_scope", "crewai_source", "crewai_private", "crewai_categories"
"""Under these names a memory's metadata has what CrewAI said of it."""


def record_of(memory: AnyMemory) -> MemoryRecord:
    """A memory as CrewAI shows it: its content is what a prompt would say, its categories begin with its kind."""
    return MemoryRecord(
        id=memory.id,
        content=note(memory, utc_now()),
        scope=path_of(memory),
        categories=categories_of(memory),
        importance=memory.confidence,
        created_at=_naive(memory.created_at),
        last_accessed=_naive(memory.seen_at),
        source=memory.metadata.get(SOURCE) or memory.agent or None,
        private=bool(memory.metadata.get(PRIVATE)),
    )


def path_of(memory: AnyMemory) -> str:
    """The path that a memory was filed under; what was learned has none and stands at the root."""
    return normal_path(str(memory.metadata.get(SCOPE) or "/"))


def categories_of(memory: AnyMemory) -> list[str]:
    """The kind, and what CrewAI's categories were."""
    given = memory.metadata.get(CATEGORIES)
    return [memory.kind, *(map(str, given) if isinstance(given, list) else ())]


def normal_path(path: str | None) -> str:
    """A path with one slash before each part and none at the end; the root is "/"."""
    return "/" + "/".join(part for part in (path or "").split("/") if part)


def is_under(path: str, scope: str | None) -> bool:
    """Whether a path is a scope or below it."""
    root = normal_path(scope)
    return root == "/" or path == root or path.startswith(f"{root}/")


def is_learned(memory: AnyMemory) -> bool:
    """Whether a memory belongs to an agent or user wherever it works: all but the notes that were filed under a path."""
    return SCOPE not in memory.metadata


def is_visible(
    memory: AnyMemory, *, scope: str | None, categories: list[str] | None, source: str | None, include_private: bool
) -> bool:
    """Whether a recall of this scope shows a memory: notes under the path, and whatever was learned; private ones to their source only."""
    if memory.metadata.get(PRIVATE) and not include_private and (source is None or memory.metadata.get(SOURCE) != source):
        return False
    if categories and not set(categories) & set(categories_of(memory)):
        return False
    return is_learned(memory) or is_under(path_of(memory), scope)


def filed(*, scope: str | None, categories: list[str] | None, source: str | None, private: bool) -> dict[str, Any]:
    """The metadata that keeps what CrewAI said of a note."""
    told = {SCOPE: normal_path(scope) if scope else None, CATEGORIES: categories, SOURCE: source, PRIVATE: private or None}
    return {name: value for name, value in told.items() if value}


def aware(moment: datetime) -> datetime:
    """A time of CrewAI's, whose naive ones are UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
