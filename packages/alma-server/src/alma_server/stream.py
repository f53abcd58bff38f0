"""`GET …/events`: the events of a project, as a stream or page by page.

All streams of a project share one watch of its journal, and those at the same place with the same filter share what is read.
"""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from alma.errors import AlmaError
from alma_access import Access
from alma_events import Watch, read_events
from alma_server.asking import Asked, AskedDep
from alma_server.problems import ProblemError

if TYPE_CHECKING:
    from alma import ALMA
    from alma_server.service import Service

_LOG = logging.getLogger("alma")

BEAT_SECONDS = 15.0
"""After this time without an event a comment is sent, so that no proxy ends the stream; a revoked token ends it then,
or instead of its next event."""
RETRY_MILLISECONDS = 2000
"""How long a client waits before it connects again."""
PAGE = 200
LOOK_SECONDS = 1.0
_END_OF_RECORD = 2**63
_STREAM = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

events_router = APIRouter(prefix="/projects/{project}", tags=["events"])


class EventPage(BaseModel):
    """Events in the order of the journal, and the position to ask for the next ones after."""

    events: list[dict[str, Any]]
    next: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Events that a client wants: those that its access reads, of these types, agents and kinds of memory."""

    access: Access
    types: tuple[str, ...] | None
    agents: tuple[str, ...] | None
    kinds: tuple[str, ...] | None
    payload: Literal["thin", "full"]


@dataclass(frozen=True, slots=True)
class Page:
    """Some events, the position after them, whether there may be more, and the frames that a stream sends for them."""

    events: list[dict[str, Any]]
    position: str
    is_full: bool
    frames: bytes
    newest: datetime | None


@events_router.get(
    "/events",
    operation_id="events",
    response_model=EventPage,
    responses={200: {"content": {_STREAM: {"schema": {"type": "string"}}}}},
)
async def events(
    asked: AskedDep,
    after: Annotated[str | None, Query(description="Position of the last event that is known: `seq.index`, or a `seq`.")] = None,
    types: Annotated[list[str] | None, Query(description="Types of events.")] = None,
    agents: Annotated[list[str] | None, Query(description="Agents of the memories.")] = None,
    kinds: Annotated[list[str] | None, Query(description="Kinds of the memories.")] = None,
    payload: Annotated[Literal["thin", "full"], Query(description="`full` adds the memory.")] = "thin",
    limit: Annotated[int, Query(ge=1, le=PAGE, description="Most events of a page.")] = 100,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
    last_event_id: Annotated[str | None, Header(description="`after`, as a client that connects again sends it.")] = None,
) -> Any:
    """Returns a page of events from the beginning or after a position; with `Accept: text/event-stream` a stream that does not end.

    A stream begins now, or after `Last-Event-ID` or `after`.
    """
    asked.require("events")
    wanted = Wanted(asked.access, _tuple(types), _tuple(agents), _tuple(kinds), payload)
    if _STREAM not in (accept or ""):
        page = await asked.read(lambda alma: read_page(alma, wanted, after or "0", limit))
        return EventPage(events=page.events, next=page.position)
    streams = asked.service.streams
    streams.check_room()
    alma, start = await asked.read(lambda alma: (alma, _start(alma, wanted, last_event_id or after)))
    return StreamingResponse(streams.follow(asked, alma, wanted, start), headers=_HEADERS, media_type=_STREAM)


def _start(alma: "ALMA", wanted: Wanted, after: str | None) -> str:
    """Returns the position that a stream begins after. Raises what is wrong with what a client wants before its answer begins."""
    read_events(alma, after=after, types=wanted.types, access=wanted.access)
    return str(_head(alma)) if after is None else after


def read_page(alma: "ALMA", wanted: Wanted, after: str, limit: int) -> Page:
    """Returns at most `limit` events after a position."""
    head = _head(alma)
    chosen = {"types": wanted.types, "agents": wanted.agents, "kinds": wanted.kinds, "payload": wanted.payload}
    found = list(islice(read_events(alma, after=after, access=wanted.access, **chosen), limit))  # type: ignore[arg-type]
    is_full = len(found) == limit
    last = found[-1].position if found else after
    position = last if is_full else max(last, str(head), key=_order)
    shown = [event.to_dict() for event in found]
    frames = "".join(
        f"id: {event.position}\nevent: {event.event_type}\ndata: {json.dumps(each)}\n\n"
        for event, each in zip(found, shown, strict=True)
    )
    return Page(shown, position, is_full, frames.encode(), found[-1].timestamp if found else None)


@dataclass(slots=True)
class Tail:
    """The watch of one project's journal for all streams of the project. Ends with the last of them."""

    alma: "ALMA"
    loop: asyncio.AbstractEventLoop
    streams: int = 0
    next: "asyncio.Future[None]" = field(init=False)
    reading: "dict[tuple[Wanted, str], asyncio.Future[Page]]" = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.next = self.loop.create_future()
        threading.Thread(target=self._watch, args=(Watch(self.alma),), name="alma-events", daemon=True).start()

    def ring(self) -> None:
        """Wakes all streams."""
        self.next.set_result(None)
        self.next = self.loop.create_future()

    def end(self) -> None:
        """Ends the watch, within a second."""
        self._ended.set()

    def _watch(self, watch: Watch) -> None:
        try:
            while not self._ended.is_set():
                if watch.wait(LOOK_SECONDS):
                    self.loop.call_soon_threadsafe(self.ring)
        except (AlmaError, RuntimeError):  # the store was closed, or the loop
            return


class Streams:
    """Open streams of a server. Used from its event loop."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._tails: dict[str, Tail] = {}
        self.count = 0
        service.stopping.on_ask(self._wake)

    def check_room(self) -> None:
        """Raises `ProblemError` 503 if too many streams are open."""
        if self.count >= self._service.settings.streams:
            raise ProblemError(503, "overloaded", "too many streams are open", headers={"Retry-After": "5"})

    async def follow(self, asked: Asked, alma: "ALMA", wanted: Wanted, position: str) -> AsyncIterator[bytes]:
        """Yields the frames of a stream, until the server stops or the token is no longer valid."""
        with self._joined(asked.project or "", alma) as tail:
            yield f"retry: {RETRY_MILLISECONDS}\nid: {position}\n\n".encode()
            due = tail.loop.time() + BEAT_SECONDS
            while not self._service.stopping.is_asked:
                woken = tail.next
                page = await self._read(tail, wanted, position)
                if page is None:
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
                position, frames = page.position, page.frames
                if frames:
                    self._note(asked.project or "", page)
                while True:
                    if not frames and tail.loop.time() >= due:  # records that others may read wake the stream, too
                        frames = f": beat\nid: {position}\n\n".encode()
                    if frames:
                        if not asked.is_still_valid():
                            return
                        yield frames
                        frames, due = b"", tail.loop.time() + BEAT_SECONDS
                    if page.is_full or (await asyncio.wait((woken,), timeout=max(0.0, due - tail.loop.time())))[0]:
                        break

    @contextmanager
    def _joined(self, project: str, alma: "ALMA") -> Iterator[Tail]:
        """Counts a stream of a project, and yields the watch that it shares."""
        tail = self._tails.get(project)
        if tail is None:
            tail = self._tails[project] = Tail(alma, asyncio.get_running_loop())
        self._count(tail, 1)
        try:
            yield tail
        finally:
            self._count(tail, -1)
            if not tail.streams:
                tail.end()
                self._tails.pop(project, None)

    async def _read(self, tail: Tail, wanted: Wanted, position: str) -> Page | None:
        """Returns what is after a position, `None` if it cannot be read now."""
        key = wanted, position
        reading = tail.reading.get(key)
        if reading is None:
            work = self._service.work.reads.run(lambda: read_page(tail.alma, wanted, position, PAGE))
            reading = tail.reading[key] = asyncio.ensure_future(work)
            reading.add_done_callback(lambda _: tail.reading.pop(key, None))
        try:
            return await asyncio.shield(reading)
        except (AlmaError, ProblemError) as error:
            _LOG.warning("a stream of events waits: %s", error)
            return None

    def _count(self, tail: Tail, change: int) -> None:
        tail.streams += change
        self.count += change
        self._service.metrics.set_streams(self.count)

    def _note(self, project: str, page: Page) -> None:
        age = (datetime.now(UTC) - page.newest).total_seconds() if page.newest else 0.0
        self._service.metrics.note_event(project, _order(page.position)[0], age)

    def _wake(self) -> None:
        for tail in self._tails.values():
            tail.ring()


def _head(alma: "ALMA") -> int:
    return alma.storage.project(alma.project_id).head()


def _order(position: str) -> tuple[int, int]:
    seq, has_index, index = position.partition(".")
    return int(seq), int(index) if has_index else _END_OF_RECORD


def _tuple(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)
