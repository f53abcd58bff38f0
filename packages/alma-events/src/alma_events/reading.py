"""`read_events`: the events of a project's journal, from any position on."""

import asyncio
import json
import threading
from base64 import b32encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from queue import SimpleQueue
from typing import Any, Literal, Self

from alma import ALMA
from alma.errors import ConflictError, StorageError, ValidationError
from alma.protocols import Entry, Project, Store
from alma.text import plain_value, quoted
from alma.types.episodes import EPISODE
from alma.types.identity import from_micros
from alma_access import Access
from alma_events.filtering import Reader, Selection, lists_for
from alma_events.mapping import LAST, Draft, Owner, drafts, owner_of
from alma_events.types import MemoryEvent
from alma_events.watching import Watch

Payload = Literal["thin", "full"]
Position = tuple[int, int]
_Readable = list[tuple[Draft, dict[str, Any]]]
"""Events of a record that a reader gets, with their payloads."""

LARGEST = 20_000
"""Bytes of a memory in a full event, as JSON; a larger one is left out."""

MOST_ENTRIES, MOST_CHANGES = 256, 4_000
"""Journal records that are read at once, and rows in them. None is read while the caller has an event, for a reading holds a view of the store."""

LONGEST_WAIT = 1.0
MOST_OWNERS = 10_000


class Events:
    """Events of a project to go through, by `for` or by `async for`, once. `close` ends it, also while another thread waits for the next.

    A cancelled `await` loses no event: the next one has it.
    """

    def __init__(self, found: Iterator[MemoryEvent], closed: threading.Event, wake: Callable[[], object] = lambda: None) -> None:
        self._found, self._closed, self._wake = found, closed, wake
        self._asked: SimpleQueue[Future[MemoryEvent | None] | None] | None = None
        self._awaited: Future[MemoryEvent | None] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MemoryEvent:
        if self._closed.is_set():
            raise StopIteration
        return next(self._found)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> MemoryEvent:
        if self._awaited is None:
            self._awaited = self._ask()
        found = await asyncio.shield(asyncio.wrap_future(self._awaited))
        self._awaited = None
        if found is None:
            raise StopAsyncIteration
        return found

    def _ask(self) -> "Future[MemoryEvent | None]":
        """Has the next event read in a thread of its own: one that waits for long must not hold those of the event loop."""
        if self._asked is None:
            self._asked = SimpleQueue()
            threading.Thread(
                target=_answer, args=(self._asked, self._found, self._closed), name="alma-events-async", daemon=True
            ).start()
        asked: Future[MemoryEvent | None] = Future()
        self._asked.put(asked)
        return asked

    def close(self) -> None:
        """Ends the events: the next one that is asked for is none."""
        self._closed.set()
        self._wake()

    async def aclose(self) -> None:
        """Ends the events, as `close` does."""
        self.close()

    def __del__(self) -> None:
        self.close()
        if self._asked is not None:
            self._asked.put(None)


def _answer(
    asked: "SimpleQueue[Future[MemoryEvent | None] | None]", found: Iterator[MemoryEvent], closed: threading.Event
) -> None:
    """Gives the next event to each future, `None` at the end."""
    while (waiting := asked.get()) is not None:
        try:
            waiting.set_result(None if closed.is_set() else next(found, None))
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who waits
            waiting.set_exception(error)


def read_events(
    alma: ALMA,
    *,
    after: str | int | None = None,
    types: Collection[str] | None = None,
    agents: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    access: Access | None = None,
    follow: bool = False,
    stop: threading.Event | None = None,
    payload: Payload = "thin",
) -> Events:
    """Returns the events of a project in the order of its journal: from its beginning, or those after a position.

    A position is "seq.index", or a `seq` for the end of that record. `types`, `agents` and `kinds` select events, `access` those that a client
    may read; `previous` of each event is the one before it in this selection. With `follow` the events go on with what any process writes,
    until `stop` is set, they are closed, or the store is. A full `payload` has the memory as it is when it is read, up to 20 kB as JSON.
    `ValidationError` for a position or a type that is none, `ScopeViolationError` for a client of another project, `ConflictError` for a position
    that the journal does not reach: it is that of an older copy of the store.
    """
    if not isinstance(payload, str) or payload not in ("thin", "full"):  # type: ignore[redundant-expr] # callers may pass anything
        raise ValidationError(f"payload must be 'thin' or 'full', not {quoted(payload)}")
    if access is not None:
        access.as_project(alma.project_id)
    reader, selection = Reader(access, alma.agents), Selection.of(types, agents, kinds)
    journal = Journal(alma, reader, selection, is_full=payload == "full")
    start, head, closed = parse_position(after), journal.head(), threading.Event()
    if start[0] > head:
        raise ConflictError(
            f"the journal of project {alma.project_id!r} ends with record {head}, before the position {after}: the store is an older copy, and its "
            f"next events would be missed; read from {head} on, or from the beginning"
        )
    if not follow:
        return Events(journal.read(start, upto=head), closed)
    watch = Watch(alma)
    return Events(_follow(alma, journal, watch, start, [closed] if stop is None else [closed, stop]), closed, watch.wake)


def read_event(alma: ALMA, position: str, *, access: Access | None = None, payload: Payload = "thin") -> MemoryEvent | None:
    """Returns the event at a position, without its `previous`; `None` if there is none, it may not be read, or what it was about is purged."""
    seq, index = parse_position(position)
    journal = Journal(alma, Reader(access, alma.agents), Selection(None, None, None), is_full=payload == "full", chains=False)
    found = journal.read((seq, index - 1), upto=seq)
    return next((event for event in found if (event.seq, event.index) == (seq, index)), None)


def parse_position(given: str | int | None) -> Position:
    """Returns a position as numbers. A bare `seq` is the end of that record. `ValidationError` for what is none."""
    if given is None:
        return (0, LAST)
    stated = plain_value(given)
    text = stated if isinstance(stated, str) else str(max(-1, min(stated, LAST))) if type(stated) is int else ""
    seq, has_index, index = text.partition(".")
    is_sound = seq.isascii() and seq.isdigit() and len(seq) < 16
    if not is_sound or (has_index and not (index.isascii() and index.isdigit() and len(index) < 17)):
        raise ValidationError(f"a position is 'seq.index' as of an event, or a journal number, not {quoted(given)}")
    return int(seq), int(index) if has_index else LAST


def event_id(store_id: str, project: str, seq: int, index: int) -> str:
    """Returns the id of an event, the same wherever it is derived: `evt_` and 26 characters of the base32 of a SHA-256."""
    return named_id(store_id, project, seq, index)


def named_id(*parts: str | int) -> str:
    """Returns the id of an event that these parts distinguish from all others."""
    digest = sha256(json.dumps(parts).encode()).digest()
    return f"evt_{b32encode(digest[:20]).decode()[:26].lower()}"


def _follow(
    alma: ALMA, journal: "Journal", watch: Watch, start: Position, stops: Sequence[threading.Event]
) -> Iterator[MemoryEvent]:
    """Yields events until stopped, those of new records as they come."""

    def close() -> None:
        stops[0].set()
        watch.wake()

    def is_stopped() -> bool:
        return any(stop.is_set() for stop in stops)

    remove = alma.before_close(close)
    journal.replayed_upto = journal.head()
    try:
        while not is_stopped():
            for event in journal.read(start):
                yield event
                if is_stopped():
                    return
            start = max(start, (journal.seq, LAST))
            while not is_stopped() and not watch.wait(LONGEST_WAIT):
                pass
    except StorageError:
        if not is_stopped():
            raise
    finally:
        remove()


@dataclass(slots=True)
class Journal:
    """Reads events of one project's journal as one reader gets them. Used by one thread at a time."""

    alma: ALMA
    reader: Reader
    selection: Selection
    is_full: bool = False
    chains: bool = True
    replayed_upto: int | None = None
    """The newest record at the beginning of the reading; `None` where all events are replayed."""
    seq: int = 0
    """The newest record that was read."""
    _owners: dict[str, Owner] = field(default_factory=dict)
    _last: Position | None = None
    _is_last_known: bool = False
    _opened: tuple[Store, Project] | None = None

    @property
    def _project(self) -> Project:
        """The project as the store has it now: another one once the store was embedded anew."""
        storage = self.alma.storage
        if self._opened is None or self._opened[0] is not storage:
            self._opened = storage, storage.project(self.alma.project_id)
        return self._opened[1]

    def head(self) -> int:
        """Returns the newest journal `seq`."""
        return self._project.head()

    def read(self, after: Position, *, upto: int | None = None) -> Iterator[MemoryEvent]:
        """Yields the events after a position, up to a record. Nothing is being read while the caller has an event."""
        self.seq = after[0] if after[1] == LAST else max(after[0] - 1, 0)
        while (found := self._portion(self.seq, after, upto)) is not None:
            last, events = found
            for entry, readable, chain in events:
                yield from self._events(entry, readable, chain, after)
            self.seq = last

    def _portion(self, seq: int, after: Position, upto: int | None) -> tuple[int, list[tuple[Entry, _Readable, str]]] | None:
        """Returns the number of the last of some records, and those of them that have events, in one consistent view; `None` for none."""
        project = self._project
        with project.moment():
            entries = self._entries(seq, upto)
            events = [
                (entry, readable, project.head_at(entry.seq)[:16])
                for entry in entries
                if (readable := [found for found in self._readable(entry) if (entry.seq, found[0].index) > after])
            ]
        return (entries[-1].seq, events) if entries else None

    def _entries(self, after: int, upto: int | None) -> list[Entry]:
        """Returns some records after a `seq`."""
        found, size = list[Entry](), 0
        with closing(self._project.entries(after=after)) as entries:  # type: ignore[type-var] # each store returns a generator
            for entry in entries:
                if upto is not None and entry.seq > upto:
                    break
                found.append(entry)
                size += len(entry.changes)
                if len(found) >= MOST_ENTRIES or size >= MOST_CHANGES:
                    break
        return found

    def _events(self, entry: Entry, readable: _Readable, chain: str, after: Position) -> Iterator[MemoryEvent]:
        """Yields the events of a record with their contexts."""
        full = self._memories([draft.memory_id for draft, _ in readable if draft.memory_id]) if self.is_full else {}
        for draft, payload in readable:
            previous = self._previous(after) if self.chains else None
            self._last = (entry.seq, draft.index)
            yield self._event(entry, draft, {**payload, **full.get(draft.memory_id or "", {})}, chain, previous)

    def _readable(self, entry: Entry) -> _Readable:
        """Returns the events of a record that the reader gets, with their payloads."""
        found = [(draft, payload) for draft in drafts(entry, self.find_owners) if (payload := self._payload(draft)) is not None]
        has_more = self.reader.reads_everything or any(not draft.leads for draft, _ in found)
        return [(draft, payload) for draft, payload in found if self.selection.takes(draft) and (has_more or not draft.leads)]

    def _payload(self, draft: Draft) -> dict[str, Any] | None:
        """Returns the payload that a reader gets of an event; `None` for an event that it may not read."""
        if not (draft.is_for_all or draft.leads or self.reader.reads(draft.owner)):
            return None
        payload = dict(draft.payload)
        if draft.listed:
            named = [key for items in draft.listed.values() for key, _ in items]
            lists = lists_for(self.reader, draft, {} if self.reader.reads_everything else self.find_owners(named))
            if named and "memories" in lists and not lists["memories"]:
                return None
            payload |= lists
        return {**payload, **draft.secret} if self.reader.reads_everything else payload

    def _event(self, entry: Entry, draft: Draft, payload: Mapping[str, Any], chain: str, previous: str | None) -> MemoryEvent:
        project = self.alma.project_id
        return MemoryEvent(
            event_type=draft.type,
            agent=draft.owner.agent,
            project_id=project,
            memory_type=draft.owner.kind,
            memory_id=draft.memory_id,
            timestamp=from_micros(entry.at),
            payload=payload,
            id=event_id(self.alma.storage.id, project, entry.seq, draft.index),
            seq=entry.seq,
            index=draft.index,
            user_id=draft.owner.user_id,
            actor=entry.actor,
            operation=entry.operation,
            previous=previous,
            chain=chain,
            replayed=self.replayed_upto is None or entry.seq <= self.replayed_upto,
        )

    def _memories(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns the memories as they are now, by id, for full events."""
        return {key: _show(memory) for key, memory in self._project.named(dict.fromkeys(ids)).items()}

    def _previous(self, after: Position) -> str | None:
        """Returns the position of the event before the next one, in this selection."""
        if self._last is None and not self._is_last_known:
            self._last, self._is_last_known = self._last_before(after), True
        return None if self._last is None else "{}.{}".format(*self._last)

    def _last_before(self, after: Position) -> Position | None:
        """Returns the last event up to a position, which is looked for backwards in growing steps."""
        upto, step = after[0], 1
        while upto > 0:
            start, last = max(upto - step, 0), None
            for entry in self._entries_between(start, upto):
                for draft, _ in self._readable(entry):
                    if (entry.seq, draft.index) <= after:
                        last = (entry.seq, draft.index)
            if last is not None:
                return last
            upto, step = start, step * 8
        return None

    def _entries_between(self, after: int, upto: int) -> Iterator[Entry]:
        while after < upto and (found := self._entries(after, upto)):
            after = found[-1].seq
            yield from found

    def find_owners(self, keys: Collection[str]) -> Mapping[str, Owner]:
        """Returns the owners of memories, and of episodes by "episode/" and id, as far as they are known."""
        missing = [key for key in keys if key not in self._owners]
        if missing:
            if len(self._owners) > MOST_OWNERS:
                self._owners.clear()
            episodes = [key for key in missing if key.startswith(f"{EPISODE}/")]
            self._owners |= self._episodes(episodes)
            self._owners |= self._memory_owners([key for key in missing if key not in episodes])
        return {key: self._owners[key] for key in keys if key in self._owners}

    def _episodes(self, keys: Sequence[str]) -> dict[str, Owner]:
        """Returns the owners of episodes; of one that is undone, from the journal."""
        project = self._project
        ids = [key.partition("/")[2] for key in keys]
        found = (
            {f"{EPISODE}/{key}": body for key, (version, body) in project.record(EPISODE, ids).items() if version} if ids else {}
        )
        if left := [key for key in keys if key not in found]:
            for entry in project.entries(memory_ids=left):
                for change in entry.changes:
                    if change.table == "record" and change.key in left:
                        found.setdefault(change.key, ((change.after or change.before) or {}).get("body") or {})
        return {key: Owner(body.get("agent") or None, body.get("user_id") or None) for key, body in found.items()}

    def _memory_owners(self, ids: Sequence[str]) -> dict[str, Owner]:
        """Returns the owners of memories; of those that are gone, from the journal."""
        project = self._project
        places = project.find(ids) if ids else {}
        found = {key: Owner(one.partition.agent, one.partition.user_id, one.partition.kind) for key, one in places.items()}
        if left := [key for key in ids if key not in found]:
            for entry in project.entries(memory_ids=left):
                for change in entry.changes:
                    row = change.after or change.before or {}
                    if change.table == "memory" and change.key in left and "owner" in row and "kind" in row:
                        found.setdefault(change.key, owner_of(row))
        return found


def _show(memory: Any) -> dict[str, Any]:
    """Returns the part of a full event that describes a memory."""
    with suppress(ValueError):
        shown = memory.model_dump(mode="json")
        if len(json.dumps(shown, ensure_ascii=False).encode()) <= LARGEST:
            return {"memory": shown}
    return {"truncated": True}
