"""Pages of the memories of a project, by the time they were made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from alma.errors import ValidationError
from alma.types.memories import AnyMemory
from alma_server.routes.scope import Reader

if TYPE_CHECKING:
    from alma import ALMA

LARGEST_LIST = 100_000
"""Memories that ALMA lists at most."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list for one reader: memories of a kind, made at or after `since`, that contain all `words`, oldest or newest first. Those in quarantine
    are a list of their own.

    A page begins after a position: the time and the id of the last memory before it, and how many came before. Oldest first, a page costs the
    same wherever it is; newest first, the pages before it are read again.
    """

    reader: Reader
    kind: str | None
    since: datetime | None
    words: str | None
    newest_first: bool
    is_quarantine: bool

    def page(self, alma: "ALMA", position: Any, limit: int) -> tuple[list[AnyMemory], Any]:
        """Returns the memories of a page, and the position of the next one, `None` on the last."""
        last, passed = (None, 0) if position is None else ((datetime.fromisoformat(position[0]), position[1]), position[2])
        size = limit + 1 + (passed if self.newest_first else 1)
        while True:
            found, is_all = self._first(alma, last, size)
            rest = [memory for memory in found if last is None or self._is_after(memory, last)]
            shown = [memory for memory in rest if self._is_shown(memory)]
            if len(shown) > limit or is_all:
                break
            if size == LARGEST_LIST:
                raise ValidationError(f"this page lies beyond the first {LARGEST_LIST:,} memories; list the oldest first")
            size = min(2 * size, LARGEST_LIST)
        page = shown[:limit]
        if len(shown) <= limit:
            return page, None
        return page, [page[-1].created_at.isoformat(), page[-1].id, passed + len(rest[: rest.index(page[-1]) + 1])]

    def total(self, alma: "ALMA") -> int:
        """Returns the number of memories of the whole list, at most 100,000."""
        return sum(map(self._is_shown, self._first(alma, None, LARGEST_LIST)[0]))

    def _first(self, alma: "ALMA", last: "tuple[datetime, str] | None", size: int) -> tuple[list[AnyMemory], bool]:
        """Returns the first memories in order, and whether these are all. Of memories made at one time it returns all or none."""
        since = last[0] if last is not None and not self.newest_first else self.since
        if self.is_quarantine:
            return sorted(filter(self._is_wanted, alma.quarantined(LARGEST_LIST)), key=_order, reverse=self.newest_first), True
        found = alma.list_memories(
            self.kind,
            self.reader.agent,
            self.reader.user,
            since=since,
            words=self.words,
            limit=size,
            newest_first=self.newest_first,
        )
        is_all = len(found) < size
        if not is_all:
            found = [memory for memory in found if memory.created_at != found[-1].created_at]
        return sorted(found, key=_order, reverse=self.newest_first), is_all

    def _is_wanted(self, held: AnyMemory) -> bool:
        """Returns whether `list_memories` would list a memory that is in quarantine."""
        is_in_time = self.since is None or held.created_at >= self.since
        is_of_user = self.reader.agent is not None or self.reader.user in (None, held.user_id)
        return self.kind in (None, held.kind) and is_in_time and is_of_user

    def _is_after(self, memory: AnyMemory, last: "tuple[datetime, str]") -> bool:
        return _order(memory) < last if self.newest_first else _order(memory) > last

    def _is_shown(self, memory: AnyMemory) -> bool:
        return self.reader.sees_user(memory.user_id) and (self.reader.agent is None or self.reader.owns(memory))


def get_with_held(alma: "ALMA", memory_ids: Sequence[str]) -> list[AnyMemory]:
    """Returns memories by their ids, also those in quarantine. `MemoryNotFoundError` if one was erased or archived."""
    held = {memory.id: memory for memory in alma.quarantined(LARGEST_LIST)}
    return [held.get(each) or alma.get(each) for each in memory_ids]


def _order(memory: AnyMemory) -> tuple[datetime, str]:
    return memory.created_at, memory.id
