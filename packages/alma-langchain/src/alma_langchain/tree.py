"""State of one handler: the outermost runs, their parts, and the runs that wait in a thread."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.tools import BaseTool

from alma import MemorySlice
from alma_integration import Bounded, Run, RunContext, holding, tag_beside, together

MOST_RUNS = 10_000
"""Limit on threads, and on runs whose end was never reported; the oldest are evicted."""


class Place(NamedTuple):
    """A thread, distinguished from those with the same id of another tenant, user or graph."""

    project: str
    user: str | None
    thread: str
    namespace: str
    graph: str


@dataclass(slots=True, eq=False)
class Heard:
    """An outermost run that a handler follows. `run` is `None` until it begins. `settled` are the ids of tool calls whose outcome is
    known, `refused` those of calls that were refused. The input of a streamed sequence is known when it ends: until then its steps are
    kept in `held`. `found` is what retrievers found, `beside` what of it was shown before the run began. `inside` is the copy of the
    handler that waits for parts of the run which are not passed on to it."""

    run_id: UUID
    context: RunContext
    run: Run | None = None
    settled: set[str] = field(default_factory=set)
    place: Place | None = None
    is_interrupted: bool = False
    inside: Any = None
    is_streamed: bool = False
    refused: set[str] = field(default_factory=set)
    held: list[Callable[[], object]] = field(default_factory=list)
    parts: set[UUID] = field(default_factory=set)
    found: list[MemorySlice] = field(default_factory=list)
    beside: list[MemorySlice] = field(default_factory=list)

    def tag(self, memories: MemorySlice) -> MemorySlice:
        """Returns memories that a retriever found, with tags that no others of the run have."""
        shown = reduce(together, self.found, self.run.memories if self.run is not None else MemorySlice())
        found, new = tag_beside(memories, shown)
        self.found.append(new)
        return found

    def show_found(self, documents: Sequence[Document]) -> None:
        """Adds the memories among the documents that a retriever returned to those that the agent is shown."""
        ids = {document.id for document in documents} | {document.metadata.get("tag") for document in documents}
        for found in self.found:
            ways = tuple(way for way in found.strategies if way.id in ids or way.tag in ids)
            items = (item for item in found.recalled if item.memory.id in ids or item.tag in ids)
            self.beside.append(holding(found.model_copy(update={"strategies": ways}), items))
        self.show_beside()

    def show_beside(self) -> None:
        """Reports to the run, once it has begun, the memories that retrievers showed."""
        while self.run is not None and self.beside:
            self.run.show_beside(self.beside.pop(0))


@dataclass(slots=True, eq=False, kw_only=True)
class Attended(Heard):
    """A run of an agent that has middleware: `by` attached `handler` to it, and ends it after its last node. A run that ends before that was
    interrupted. `root_id` is the id of the outermost graph around it.

    `asked` is the human message that the run began with, and `episode` the episode that it continues; both are stored in the thread.
    `tools` are those that were called, by name.
    """

    by: object
    root_id: UUID | None
    asked: str | None
    episode: str | None
    handler: Any = None
    has_begun: bool = False
    tools: dict[str, BaseTool] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class ToolCall:
    """A running call of a tool. `tool` is set where that tool itself is called, so that its schema is known."""

    of: Heard
    name: str
    arguments: Mapping[str, Any]
    call_id: str = ""
    tool: BaseTool | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.started


@dataclass(slots=True)
class Part:
    """A running chain, tool or retriever of a run. A part inside a tool, or followed by another handler, `is_apart`, and so is everything
    inside it. One that another handler follows `is_left` to it."""

    heard: Heard
    name: str
    is_outermost: bool
    is_apart: bool
    is_left: bool = False
    is_retriever: bool = False
    call: ToolCall | None = None

    def set_apart(self) -> None:
        """Leaves everything inside this part to others, unless it is the outermost run itself."""
        self.is_apart = self.is_apart or not self.is_outermost

    def leave(self) -> None:
        """Leaves everything inside this part to another handler, unless it is the outermost run itself."""
        self.set_apart()
        self.is_left = self.is_apart


class Tree:
    """The parts of all runs that a handler follows. Threads share it."""

    def __init__(self) -> None:
        self._parts: dict[UUID, Part] = {}
        self._heard: dict[UUID, Heard] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._parts)

    def entered(self, run_id: UUID, event: Mapping[str, Any]) -> Part:
        """Records the beginning of a chain or a tool, and returns it. `event` is what LangChain reports of it."""
        with self._lock:
            outer = self.part(event.get("parent_run_id"))
            heard = outer.heard if outer else Heard(run_id, RunContext(metadata=event.get("metadata") or {}))
            part = Part(heard, str(event.get("name") or ""), outer is None, is_apart=outer is not None and outer.is_apart)
            part.is_left = outer is not None and outer.is_left
            self._parts[run_id] = part
            heard.parts.add(run_id)
            if outer is None:
                self._heard[run_id] = heard
                while len(self._heard) > MOST_RUNS:
                    self.left(next(iter(self._heard)))
            return part

    def attend(self, heard: Heard) -> None:
        """Records a run that was already under way."""
        with self._lock:
            self._parts[heard.run_id] = Part(heard, "", is_outermost=True, is_apart=False)
            self._heard[heard.run_id] = heard
            heard.parts.add(heard.run_id)

    def part(self, run_id: UUID | None) -> Part | None:
        """Returns the running part of this id."""
        return None if run_id is None else self._parts.get(run_id)

    def run_at(self, run_id: UUID | None) -> Run | None:
        """Returns the run that this part belongs to."""
        part = self.part(run_id)
        return None if part is None or part.is_apart else part.heard.run

    def tag(self, run_id: UUID, memories: MemorySlice) -> MemorySlice:
        """Returns memories that a retriever found, with tags that no others of its run have. Those of a run that is not recorded, or is another
        agent's, are returned as they are."""
        with self._lock:
            part = self.part(run_id)
            if part is None or part.is_left:
                return memories
            heard = part.heard
            if heard.run is not None:
                return heard.tag(memories) if heard.run.speaking == memories.agent else memories
            if isinstance(heard, Attended) and not heard.has_begun:
                return heard.tag(memories.tagged("r"))  # its notes will have the usual tags
            return heard.tag(memories) if heard.is_streamed else memories

    def left(self, run_id: UUID) -> Part | None:
        """Records the end of a chain or a tool, and returns it. An outermost run ends all its parts, because the end of some is never
        reported."""
        with self._lock:
            part = self._parts.pop(run_id, None)
            if part is not None:
                part.heard.parts.discard(run_id)
            if part is not None and part.is_outermost:
                self._heard.pop(run_id, None)
                for each in part.heard.parts:
                    self._parts.pop(each, None)
            return part


class Threads:
    """A handler's state of threads: in `tasks` the last task of each, and the runs in it that wait for a person, as episode and task."""

    def __init__(self) -> None:
        self.tasks = Bounded[Place, str](MOST_RUNS)
        self._waiting = Bounded[tuple[Place, str | None], tuple[str | None, str]](MOST_RUNS)

    def interrupted(self, place: Place, checkpoint: str | None, episode_id: str | None, task: str) -> None:
        """Records that a run waits here, at this checkpoint."""
        self._waiting[place, checkpoint] = episode_id, task

    def resumed(self, place: Place, checkpoint: str | None) -> tuple[str | None, str] | None:
        """Returns the run that continues from this checkpoint. If none waits there, as after `update_state`, returns the only one that
        waits in the thread."""
        found = self._waiting.pop((place, checkpoint), None)
        if found is None:
            here = [key for key in list(self._waiting) if key[0] == place]
            found = self._waiting.pop(here[0], None) if len(here) == 1 else None
        return found
