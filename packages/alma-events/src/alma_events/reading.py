"""`read_events`: the events of a project's journal, from any position on."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Literal, Self

from alma import ALMA
from alma_events.types import MemoryEvent, MemoryEventType
from alma_events.watching import Watch

if TYPE_CHECKING:
    from alma_access import Access

Payload = Literal["thin", "full"]
LONGEST_WAIT = 1.0


class Events:
    """Events to go through, by `for` or by `async for`. `close` ends a waiting one."""

    def __init__(self, found: Iterator[MemoryEvent], stop: threading.Event) -> None:
        self._found, self._stop = found, stop

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MemoryEvent:
        return next(self._found)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> MemoryEvent:
        found = await asyncio.to_thread(next, self._found, None)
        if found is None:
            raise StopAsyncIteration
        return found

    def close(self) -> None:
        """Ends the reading; a waiting one ends within a second."""
        self._stop.set()


def read_events(
    alma: ALMA,
    *,
    after: str | int | None = None,
    types: Collection[str] | None = None,
    agents: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    access: "Access | None" = None,
    follow: bool = False,
    stop: threading.Event | None = None,
    payload: Payload = "thin",
) -> Events:
    """Returns the events of a project in journal order, those after a position ("seq.index", or a `seq` with all of its record) if one is given.

    With `follow` it waits for new ones, until `stop` is set.
    """
    ended = stop or threading.Event()
    return Events(_read(alma, int(str(after or 0).partition(".")[0]), follow=follow, stop=ended), ended)


def _read(alma: ALMA, seen: int, *, follow: bool, stop: threading.Event) -> Iterator[MemoryEvent]:
    watch = Watch(alma)
    while True:
        for entry in alma.storage.project(alma.project_id).entries(after=seen):
            seen = entry.seq
            for index, change in enumerate(entry.changes):
                if change.table == "memory" and change.before is None:
                    yield MemoryEvent(
                        event_type=MemoryEventType.CREATED,
                        project_id=alma.project_id,
                        memory_id=change.key,
                        seq=entry.seq,
                        index=index,
                        actor=entry.actor,
                        operation=entry.operation,
                    )
        while not watch.wait(LONGEST_WAIT):
            if not follow or stop.is_set():
                return
