"""`ALMAStorage`: ALMA behind CrewAI's interface for storage, for its command line and for copies that lost their `ALMAMemory`."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any
from uuid import uuid4

from crewai.memory.types import MemoryRecord, ScopeInfo

from alma import ALMA, DomainKnowledge, MemoryNotFoundError, ValidationError
from alma.types import AnyMemory
from alma_crewai.asking import NOBODY
from alma_crewai.records import (
    aware,
    categories_of,
    filed,
    is_under,
    is_visible,
    normal_path,
    path_of,
    record_of,
)

NOTES, PREFERENCE = "crew notes", "user_preference"
"""The domain of a note without a category; the category of what a user wants."""
MOST_LISTED = 100_000
MOST_QUERIES = 256


@dataclass(init=False, eq=False)
class ALMAStorage:
    """Fulfils CrewAI's `StorageBackend`: lists, counts, deletes and finds memories of a project.

    It is no way to give a crew a memory: CrewAI's `Memory(storage=…)` calls its LLM at each write, hands over vectors without their text, and says
    of nothing who asks or how it went. `ALMAMemory` does. This is what CrewAI's own tools look through it at, and by whose `key` a copy is known.
    """

    key: str  # the only field: what CrewAI writes down, in a copy or a checkpoint, is this name

    def __init__(self, alma: ALMA, *, agent: str = NOBODY) -> None:
        self.key = uuid4().hex
        self.alma = alma
        self.agent = agent
        self._queries: OrderedDict[int, str] = OrderedDict()
        self._keys = count()
        self._lock = threading.Lock()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """`embed`, so that it can stand for the embedder too."""
        return self.embed(texts)

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Numbers for texts, by which `search` knows them again: CrewAI asks for vectors and hands on nothing else."""
        with self._lock:
            keys = [next(self._keys) for _ in texts]
            self._queries.update(zip(keys, texts, strict=True))
            while len(self._queries) > MOST_QUERIES:
                self._queries.popitem(last=False)
        return [[float(key)] for key in keys]

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """What matters for the text that `embed` made this vector of, without private notes: nothing says who asks."""
        query = self._queries.get(int(query_embedding[0])) if len(query_embedding) == 1 else None
        if query is None:
            return []
        found = self.alma.retrieve(task=query, agent=self.agent, top_k=limit)
        seen = [
            (record_of(item.memory), item.score)
            for item in found.recalled
            if is_visible(item.memory, scope=scope_prefix, categories=categories, source=None, include_private=False)
            and _has(item.memory, metadata_filter)
            and item.score >= min_score
        ]
        return seen[:limit]

    def save(self, records: list[MemoryRecord]) -> None:
        """Keeps records as knowledge."""
        for record in records:
            self.add(
                record.content,
                agent=self.agent,
                scope=record.scope if record.scope != "/" else None,
                categories=record.categories,
                metadata=record.metadata,
                source=record.source,
                private=record.private,
            )

    def add(
        self,
        content: str,
        *,
        agent: str,
        user_id: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> AnyMemory:
        """Keeps a note as an agent's knowledge, or in the category "user_preference" as that of the user; `ValidationError` if there is none."""
        kept = {**(metadata or {}), **filed(scope=scope, categories=categories, source=source, private=private)}
        if PREFERENCE in (categories or ()):
            if user_id is None:
                raise ValidationError(
                    "whose preference is it? Give the ALMAMemory a user_id: what has no user, all users of an agent share"
                )
            subject = next((category for category in categories or () if category != PREFERENCE), "general")
            return self.alma.add_user_preference(user_id, subject, content, source="crewai", agent=agent, metadata=kept)
        domain = (categories or [NOTES])[0]
        return self.alma.add_domain_knowledge(agent, domain, content, source="crewai", metadata=kept)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forgets what fulfils all conditions given; `ALMA.undo` brings it back. Without any it forgets nothing: that is `reset`."""
        if (scope_prefix, categories, record_ids, older_than, metadata_filter) == (None,) * 5:
            return 0
        before = aware(older_than) if older_than is not None else None
        return self._forget(
            memory
            for memory in self._under(scope_prefix)
            if (record_ids is None or memory.id in record_ids)
            and (not categories or set(categories) & set(categories_of(memory)))
            and (before is None or memory.created_at < before)
            and _has(memory, metadata_filter)
        )

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forgets all below a path; without a path, all that the project holds."""
        self._forget(self._under(scope_prefix))

    def update(self, record: MemoryRecord) -> None:
        """Puts a note in the place of the one with its id. It gets an id of its own."""
        self.replace(record.id, content=record.content, scope=record.scope, categories=record.categories)

    def replace(
        self,
        record_id: str,
        *,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> AnyMemory:
        """Forgets a note and keeps another instead, which is given back; what is not said stays. What was learned is not rewritten."""
        kept = self.get(record_id)
        if not isinstance(kept, DomainKnowledge):
            raise ValidationError(f"{record_id!r} is no note; what was learned from outcomes can be forgotten, not rewritten")
        told = filed(scope=scope, categories=categories, source=None, private=False)
        fact = kept.fact if content in (None, record_of(kept).content) else content
        written = self.alma.add_domain_knowledge(
            kept.agent, kept.domain, fact, source=kept.source, metadata={**kept.metadata, **(metadata or {}), **told}
        )
        self.alma.forget(memory_ids=[kept.id])
        return written

    def get(self, record_id: str) -> AnyMemory | None:
        """A memory by its id."""
        try:
            return self.alma.get(record_id)
        except (MemoryNotFoundError, ValidationError):
            return None

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """A memory by its id, as a record."""
        memory = self.get(record_id)
        return None if memory is None else record_of(memory)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Memories below a path, newest first."""
        return [record_of(memory) for memory in self._under(scope_prefix)[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What is below a path: how many, of which kinds, how old, and the paths right below it."""
        memories = self._under(scope)
        moments = [record_of(memory).created_at for memory in memories]
        return ScopeInfo(
            path=normal_path(scope),
            record_count=len(memories),
            categories=sorted({category for memory in memories for category in categories_of(memory)}),
            oldest_record=min(moments, default=None),
            newest_record=max(moments, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The paths right below a path."""
        root = normal_path(parent).rstrip("/")
        below = {path_of(memory)[len(root) :].split("/")[1] for memory in self._under(parent) if path_of(memory) != (root or "/")}
        return sorted(f"{root}/{name}" for name in below)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """How many memories below a path there are of each kind and category."""
        return dict(Counter(category for memory in self._under(scope_prefix) for category in categories_of(memory)))

    def count(self, scope_prefix: str | None = None) -> int:
        """How many memories are below a path."""
        return len(self._under(scope_prefix))

    def touch_records(self, record_ids: list[str]) -> None:
        """Nothing: what is read is not changed by it."""

    async def asave(self, records: list[MemoryRecord]) -> None:
        """`save`."""
        self.save(records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """`search`."""
        return self.search(query_embedding, scope_prefix, categories, metadata_filter, limit, min_score)

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """`delete`."""
        return self.delete(scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _under(self, scope: str | None) -> list[AnyMemory]:
        memories = self.alma.list_memories(limit=MOST_LISTED)
        return [memory for memory in memories if is_under(path_of(memory), scope)]

    def _forget(self, memories: Iterable[AnyMemory]) -> int:
        ids = [memory.id for memory in memories]
        return self.alma.forget(memory_ids=ids).total if ids else 0


def _has(memory: AnyMemory, wanted: dict[str, Any] | None) -> bool:
    return all(memory.metadata.get(name) == value for name, value in (wanted or {}).items())
