"""`read_events`: the events of a project's journal, from any position on."""

import asyncio
import json
import threading
from base64 import b32encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, Self

from alma import ALMA
from alma.errors import StorageError, ValidationError
from alma.protocols import Entry, Project
from alma.text import quoted
from alma.types.episodes import EPISODE
from alma.types.identity import from_micros
from alma_access import Access
from alma_events.filtering import Reader, Selection, lists_for
from alma_events.mapping import LAST, Draft, Owner, drafts, owner_of
from alma_events.types import MemoryEvent
from alma_events.watching import Watch

Payload = Literal["thin", "full"]
Position = tuple[int, int]

LARGEST = 20_000
"""Bytes of a memory in a full event, as JSON; a larger one is left out."""

MOST_ENTRIES, MOST_CHANGES = 256, 4_000
"""Journal records that are read at once, and rows in them. None is read while the caller has an event, for a reading holds a view of the store."""

LONGEST_WAIT = 1.0
MOST_OWNERS = 10_000


class Events:
    """Events of a project to go through, by `for` or by `async for`, once. `close` ends it, also while another thread waits for the next."""

    def __init__(self, found: Iterator[MemoryEvent], close: Callable[[], object]) -> None:
        self._found, self._close = found, close

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
        """Ends the events: the next one that is asked for is none."""
        self._close()


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
    `ValidationError` for a position or a type that is none, `ScopeViolationError` for a client of another project.
    """
    if payload not in ("thin", "full"):
        raise ValidationError(f"payload must be 'thin' or 'full', not {quoted(payload)}")
    if access is not None:
        access.as_project(alma.project_id)
    reader, selection = Reader(access, alma.agents), Selection.of(types, agents, kinds)
    journal = Journal(alma, reader, selection, is_full=payload == "full")
    start = parse_position(after)
    stopped = stop or threading.Event()
    if not follow:
        return Events(journal.read(start, upto=journal.head()), stopped.set)
    watch = Watch(alma)

    def close() -> None:
        stopped.set()
        watch.wake()

    return Events(_follow(alma, journal, watch, start, stopped, close), close)


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
    seq, has_index, index = str(given).partition(".")
    is_sound = not isinstance(given, bool) and seq.isascii() and seq.isdigit() and len(seq) < 16
    if not is_sound or (has_index and not (index.isascii() and index.isdigit() and len(index) < 17)):
        raise ValidationError(f"a position is 'seq.index' as of an event, or a journal number, not {quoted(given)}")
    return int(seq), int(index) if has_index else LAST


def event_id(store_id: str, project: str, seq: int, index: int) -> str:
    """Returns the id of an event, the same wherever it is derived: `evt_` and 26 characters of the base32 of a SHA-256."""
    digest = sha256(json.dumps([store_id, project, seq, index]).encode()).digest()
    return f"evt_{b32encode(digest).decode()[:26].lower()}"


def _follow(
    alma: ALMA, journal: "Journal", watch: Watch, start: Position, stopped: threading.Event, close: Callable[[], None]
) -> Iterator[MemoryEvent]:
    """Yields events until stopped, those of new records as they come."""
    remove = alma.before_close(close)
    journal.replayed_upto = journal.head()
    try:
        while not stopped.is_set():
            head = journal.head()
            for event in journal.read(start, upto=head):
                yield event
                if stopped.is_set():
                    return
            start = max(start, (head, LAST))
            while not stopped.is_set() and not watch.wait(LONGEST_WAIT):
                pass
    except StorageError:
        if not stopped.is_set():
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
    _owners: dict[str, Owner] = field(default_factory=dict)
    _last: Position | None = None
    _is_last_known: bool = False

    @property
    def _project(self) -> Project:
        return self.alma.storage.project(self.alma.project_id)

    def head(self) -> int:
        """Returns the newest journal `seq`."""
        return self._project.head()

    def read(self, after: Position, *, upto: int) -> Iterator[MemoryEvent]:
        """Yields the events after a position, up to a record. Nothing is being read while the caller has an event."""
        seq = after[0] if after[1] == LAST else max(after[0] - 1, 0)
        while seq < upto:
            entries = self._entries(seq, upto)
            if not entries:
                return
            seq = entries[-1].seq
            for entry in entries:
                yield from self._events(entry, after)

    def _entries(self, after: int, upto: int) -> list[Entry]:
        """Returns some records after a `seq`."""
        found, size = list[Entry](), 0
        with closing(self._project.entries(after=after)) as entries:  # type: ignore[type-var] # each store returns a generator
            for entry in entries:
                if entry.seq > upto:
                    break
                found.append(entry)
                size += len(entry.changes)
                if len(found) >= MOST_ENTRIES or size >= MOST_CHANGES:
                    break
        return found

    def _events(self, entry: Entry, after: Position) -> Iterator[MemoryEvent]:
        """Yields the events of a record after a position, with their contexts."""
        readable = [found for found in self._readable(entry) if (entry.seq, found[0].index) > after]
        if not readable:
            return
        project = self._project
        chain = project.head_at(entry.seq)[:16]
        full = self._memories(project, [draft.memory_id for draft, _ in readable if draft.memory_id]) if self.is_full else {}
        for draft, payload in readable:
            previous = self._previous(after) if self.chains else None
            self._last = (entry.seq, draft.index)
            yield self._event(entry, draft, {**payload, **full.get(draft.memory_id or "", {})}, chain, previous)

    def _readable(self, entry: Entry) -> list[tuple[Draft, dict[str, Any]]]:
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

    def _memories(self, project: Project, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns what full events add: the memories as they are now, by id."""
        return {key: _shown(memory) for key, memory in project.named(dict.fromkeys(ids)).items()}

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


def _shown(memory: Any) -> dict[str, Any]:
    """Returns what a full event says of a memory."""
    with suppress(ValueError):
        shown = memory.model_dump(mode="json")
        if len(json.dumps(shown, ensure_ascii=False).encode()) <= LARGEST:
            return {"memory": shown}
    return {"truncated": True}
