"""Memories from files, stored once: a record says which memories a source has led to, so a run that was killed goes on where it was."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from alma import ALMA
from alma.errors import MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.types import Memory
from alma_integration import Record, Records, open_records

KIND = "agents.source"
VERSION = 3
"""Version of the readers. A source that an older one has read is read again."""

_MOST_SOURCES, _MOST_CHARACTERS = 100, 2_000_000


@dataclass(slots=True)
class Source:
    """The content of one conversation or file: `key` names it in the store, `name` for a person, `digest` its content."""

    key: str
    name: str
    digest: str
    memories: list[Memory] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def digest_of(*parts: object) -> str:
    """Returns a name of 40 hexadecimal digits for some values."""
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:40]


class Shelf:
    """Stores the memories of sources in batches. `stored` has what is new, `known` and `replaced` count, `refused` says why a source was not
    stored."""

    def __init__(self, alma: ALMA, user: str | None = None) -> None:
        self._alma, self._user = alma, user
        self.records: Records = open_records(alma, KIND)
        self._waiting: dict[str, Source] = {}
        self._characters = 0
        self.stored: list[Memory] = []
        self.conversations = 0
        self.known = 0
        self.replaced = 0
        self.refused: dict[str, str] = {}

    @property
    def total(self) -> int:
        """Number of memories that hold what was put, new or known."""
        return self.known + self.conversations + len(self.stored)

    def put(self, source: Source) -> None:
        """Stores the memories of a source, sooner or later; those that another content of it led to are archived, but for conversations, which
        grow."""
        self._waiting[source.key] = source
        self._characters += sum(len(memory.text) for memory in source.memories)
        if len(self._waiting) >= _MOST_SOURCES or self._characters > _MOST_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Stores what waits."""
        waiting, self._waiting, self._characters = list(self._waiting.values()), {}, 0
        found = self.records.find([source.key for source in waiting])
        changed = [(source, found.get(source.key)) for source in waiting]
        changed = [(source, record) for source, record in changed if not self._is_known(source, record)]
        try:
            self._store(changed)
        except (ValidationError, ScopeViolationError):
            for one in changed:
                try:
                    self._store([(one[0], self.records.get(one[0].key))])
                except (ValidationError, ScopeViolationError) as problem:
                    self.refused[one[0].name] = str(problem)

    def remove(self, record: Record) -> None:
        """Archives what a source led to that is gone, and forgets the source."""
        self._archive([*record.body.get("ids", ()), *record.body.get("old", ())])
        self.records.erase([record.key])

    def _is_known(self, source: Source, record: Record | None) -> bool:
        is_same = record is not None and record.body.get("digest") == source.digest and record.body.get("is_done") is True
        if is_same and record is not None:
            self.known += len(record.body["ids"])
        return is_same

    def _store(self, found: list[tuple[Source, Record | None]]) -> None:
        if not found:
            return
        begun, memories, old = [], [], []
        for source, record in found:
            body = record.body if record else {}
            ids = [memory.id for memory in source.memories]
            if body.get("digest") == source.digest and body.get("ids") and self._is_there(body["ids"][0]):
                ids = body["ids"]  # stored by a run that ended before it could say so
                self.known += len(ids)
                former = body.get("old", [])
            else:
                memories += source.memories
                former = [*body.get("ids", ()), *body.get("old", ())]
            old += former
            facts = {"digest": source.digest, "ids": ids, "old": former, "is_done": False, **source.facts}
            begun.append((source.key, facts, record.version if record else 0))
        self.records.put_many(begun)
        given = [memory.id for memory in memories]
        stored = dict(
            zip(given, self._alma.add_many(memories) if memories else (), strict=True)
        )  # grown conversations keep their ids
        self.replaced += len({*old}.intersection(stored.values()))
        self._archive({*old}.difference(stored.values()))
        done = [(key, {**body, "ids": [stored.get(one, one) for one in body["ids"]]}, version) for key, body, version in begun]
        self.records.put_many([(key, {**body, "is_done": True, "old": []}, version + 1) for key, body, version in done])
        self.conversations += sum(memory.kind == "conversation" for memory in memories)
        self.stored += [memory for memory in memories if memory.kind != "conversation"]

    def _archive(self, ids: Iterable[str]) -> None:
        """Archives memories, those in quarantine too, which a release would bring back otherwise."""
        named = list(dict.fromkeys(ids))
        if named:
            self.replaced += len(self._alma.forget(memory_ids=named).memory_ids)

    def _is_there(self, memory_id: str) -> bool:
        try:
            self._alma.get(memory_id, user_id=self._user)
        except MemoryNotFoundError:
            return False
        return True
