"""`ALMAStorage`: ALMA behind CrewAI's storage interface, for its command line and for copies that lost their `ALMAMemory`."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from sys import maxunicode
from typing import Any
from uuid import uuid4

from crewai.memory.types import MemoryRecord, ScopeInfo

from alma import ALMA, DomainKnowledge, MemoryNotFoundError, ValidationError
from alma.types import AnyMemory
from alma_crewai.actors import OUTSIDE
from alma_crewai.records import CATEGORIES, SCOPE, Sight, as_path, categories_of, filed, path_of, record_of

NOTES, PREFERENCE = "crew notes", "user_preference"
"""Domain of a note without a category; category of a preference."""
MOST_LISTED = 100_000


@dataclass(init=False, eq=False)
class ALMAStorage:
    """Implements CrewAI's `StorageBackend`: lists, counts, deletes and finds memories of a project.

    It is no way to give a crew a memory: CrewAI's `Memory(storage=…)` calls its LLM at each write, passes vectors without their text, and
    does not report who asks or how the task went. `ALMAMemory` is that way. CrewAI's own tools inspect the store through this class, and
    its `key` identifies a copy.
    """

    key: str  # the only field: CrewAI serialises just this name in a copy or a checkpoint

    def __init__(self, alma: ALMA, *, agent: str = OUTSIDE) -> None:
        self.key = uuid4().hex
        self.alma = alma
        self.project: Callable[[], ALMA] = lambda: alma  # an `ALMAMemory` replaces it by that of the present tenant
        self.agent = agent

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Returns texts as numbers, one per character, from which `search` restores them: CrewAI asks for vectors and passes on nothing
        else."""
        return [[float(ord(character)) for character in text] for text in texts]

    __call__ = embed  # so that it can serve as the embedder too

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Returns what matters for the text that `embed` made this vector of, without private notes, because the reader is unknown."""
        if not query_embedding or not all(0 < number <= maxunicode and number == int(number) for number in query_embedding):
            return []  # the vector of another embedder
        query = "".join(chr(int(number)) for number in query_embedding)
        found = Sight(scope_prefix, categories).of(self.project().retrieve(task=query, agent=self.agent, top_k=limit))
        seen = (item for item in found.recalled if _has(item.memory, metadata_filter) and item.score >= min_score)
        return [(record_of(item.memory), item.score) for item in seen][:limit]

    def save(self, records: list[MemoryRecord]) -> None:
        for record in records:
            self.add(record.model_copy(update={"scope": record.scope.strip("/")}), agent=self.agent)

    def add(self, record: MemoryRecord, *, agent: str, user_id: str | None = None) -> AnyMemory:
        """Stores a note as an agent's knowledge, or in the category "user_preference" as that of the user; `ValidationError` without a
        user.

        A note with an empty scope is filed under no path.
        """
        kept = {**record.metadata, **filed(record)}
        if PREFERENCE not in record.categories:
            domain = (record.categories or [NOTES])[0]
            return self.project().add_domain_knowledge(
                agent, domain, record.content, source="crewai", metadata=kept, user_id=user_id
            )
        if user_id is None:
            raise ValidationError(
                "whose preference is it? Give the ALMAMemory a user_id: what has no user, all users of an agent share"
            )
        subject = next((category for category in record.categories if category != PREFERENCE), "general")
        return self.project().add_user_preference(user_id, subject, record.content, source="crewai", agent=agent, metadata=kept)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forgets memories that fulfil all conditions given; `ALMA.undo` brings them back. Without any condition it forgets nothing: that
        is `reset`."""
        if (scope_prefix, categories, record_ids, older_than, metadata_filter) == (None,) * 5:
            return 0
        if older_than is not None and older_than.tzinfo is None:
            older_than = older_than.replace(tzinfo=UTC)  # CrewAI means UTC
        return self._forget(
            memory
            for memory in self._under(scope_prefix)
            if (record_ids is None or memory.id in record_ids)
            and (not categories or set(categories) & set(categories_of(memory)))
            and (older_than is None or memory.created_at < older_than)
            and _has(memory, metadata_filter)
        )

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forgets all memories below a path; without a path, all of the project."""
        self._forget(self._under(scope_prefix))

    def update(self, record: MemoryRecord) -> None:
        """Replaces the note with the record's id by a new one, and sets the record's id to the new one. Learned memories are not
        rewritten."""
        kept = self.get(record.id)
        if not isinstance(kept, DomainKnowledge):
            raise ValidationError(f"{record.id!r} is no note; what was learned from outcomes can be forgotten, not rewritten")
        before = record_of(kept)
        fact = kept.fact if record.content == before.content else record.content
        known = {**kept.metadata, **record.metadata}
        if record.scope != before.scope:
            known[SCOPE] = str(as_path(record.scope))
        if record.categories != before.categories:
            known[CATEGORIES] = record.categories
        written = self.project().add_domain_knowledge(
            kept.agent, kept.domain, fact, source=kept.source, metadata=known, user_id=kept.user_id
        )
        self.project().forget(memory_ids=[kept.id])
        record.id = written.id

    def get(self, record_id: str) -> AnyMemory | None:
        try:
            return self.project().get(record_id)
        except (MemoryNotFoundError, ValidationError):
            return None

    def get_record(self, record_id: str) -> MemoryRecord | None:
        memory = self.get(record_id)
        return None if memory is None else record_of(memory)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Returns memories below a path, newest first."""
        return [record_of(memory) for memory in self._under(scope_prefix)[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Returns statistics of a path: the number of memories below it, their kinds and ages, and the paths directly below it."""
        moments = [record.created_at for record in self.list_records(scope, MOST_LISTED)]
        return ScopeInfo(
            path=str(as_path(scope)),
            record_count=len(moments),
            categories=sorted(self.list_categories(scope)),
            oldest_record=min(moments, default=None),
            newest_record=max(moments, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        root = as_path(parent)
        below = {path_of(memory).relative_to(root).parts[:1] for memory in self._under(parent)}
        return sorted(str(root / name) for (name,) in below - {()})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Returns the number of memories below a path by kind and category."""
        return dict(Counter(category for memory in self._under(scope_prefix) for category in categories_of(memory)))

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self._under(scope_prefix))

    async def asave(self, *about: Any, **how: Any) -> None:
        await asyncio.to_thread(self.save, *about, **how)

    async def asearch(self, *about: Any, **how: Any) -> list[tuple[MemoryRecord, float]]:
        return await asyncio.to_thread(self.search, *about, **how)

    async def adelete(self, *about: Any, **how: Any) -> int:
        return await asyncio.to_thread(self.delete, *about, **how)

    def _under(self, scope: str | None) -> list[AnyMemory]:
        memories = self.project().list_memories(limit=MOST_LISTED)
        return [memory for memory in memories if path_of(memory).is_relative_to(as_path(scope))]

    def _forget(self, memories: Iterable[AnyMemory]) -> int:
        ids = [memory.id for memory in memories]
        return self.project().forget(memory_ids=ids).total if ids else 0


def _has(memory: AnyMemory, wanted: dict[str, Any] | None) -> bool:
    return all(memory.metadata.get(name) == value for name, value in (wanted or {}).items())
