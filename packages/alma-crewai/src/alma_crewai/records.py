"""Converts ALMA's memories to CrewAI's records, with the paths under which CrewAI files them."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from crewai.memory.types import MemoryRecord

from alma import MemorySlice, MemoryType
from alma.types import AnyMemory
from alma.types.prompt import note
from alma.types.strategies import TRIED, StrategyRecord
from alma_integration import holding, way_metadata

SCOPE, SOURCE, PRIVATE, CATEGORIES = "crewai_scope", "crewai_source", "crewai_private", "crewai_categories"
"""Metadata keys for CrewAI's data of a memory."""


def record_of(memory: AnyMemory) -> MemoryRecord:
    """Returns a memory as a CrewAI record: its content is the note without ages, its categories begin with its kind."""
    return MemoryRecord(
        id=memory.id,
        content=note(memory, None),
        scope=str(path_of(memory)),
        categories=categories_of(memory),
        importance=memory.confidence,
        created_at=memory.created_at.replace(tzinfo=None),
        last_accessed=memory.seen_at.replace(tzinfo=None),
        source=memory.metadata.get(SOURCE) or memory.agent or None,
        private=bool(memory.metadata.get(PRIVATE)),
    )


def record_of_way(way: StrategyRecord) -> MemoryRecord:
    """Returns a way that was tried as a CrewAI record, as its line in a prompt without ages. Its id is that of the newest outcome behind it."""
    at = way.last_used.replace(tzinfo=None)
    return MemoryRecord(
        id=way.id,
        content=way.line(None),
        scope=str(as_path(None)),
        categories=[MemoryType.OUTCOME],
        importance=way.expected,
        created_at=at,
        last_accessed=at,
        source=way.agent,
        metadata=way_metadata(way),
    )


def path_of(memory: AnyMemory) -> PurePosixPath:
    """Returns the path that a memory was filed under; learned memories have none and are at the root."""
    return as_path(memory.metadata.get(SCOPE))


def as_path(scope: object) -> PurePosixPath:
    """Returns a scope of CrewAI's as a path below the root; "" and `None` are the root."""
    return PurePosixPath("/", str(scope or "").lstrip("/"))


def categories_of(memory: AnyMemory) -> list[str]:
    """Returns the kind, and CrewAI's categories."""
    given = memory.metadata.get(CATEGORIES)
    return [memory.kind, *(map(str, given) if isinstance(given, list) else ())]


@dataclass(frozen=True, slots=True)
class Sight:
    """Memories that a recall may see: notes under its scope, and everything learned; private notes if they come from its source."""

    scope: str | None = None
    categories: list[str] | None = None
    source: str | None = None
    include_private: bool = False

    def has(self, memory: AnyMemory) -> bool:
        """Returns True when it may see a memory. A memory that was not filed under a path belongs to an agent or user wherever it
        works."""
        known = memory.metadata
        if known.get(PRIVATE) and not self.include_private and (self.source is None or known.get(SOURCE) != self.source):
            return False
        if self.categories and not set(self.categories) & set(categories_of(memory)):
            return False
        return SCOPE not in known or path_of(memory).is_relative_to(as_path(self.scope))

    def of(self, found: MemorySlice) -> MemorySlice:
        """Returns the found memories that the recall may see, and the ways that were tried, which rest on outcomes."""
        if self.categories and MemoryType.OUTCOME not in self.categories:
            found = found.model_copy(update={"strategies": tuple(way for way in found.strategies if way.rule != TRIED)})
        return holding(found, (item for item in found.recalled if self.has(item.memory)))


def filed(record: MemoryRecord) -> dict[str, Any]:
    """Returns the metadata that stores CrewAI's data of a note. An empty scope is none."""
    scope = str(as_path(record.scope)) if record.scope else None
    kept = {SCOPE: scope, CATEGORIES: record.categories, SOURCE: record.source, PRIVATE: record.private}
    return {name: value for name, value in kept.items() if value}
