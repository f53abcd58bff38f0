"""`ALMAMemory`: the memory of a crew, which recalls what helped and learns from how each task went."""

import sys
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Literal, Self, Unpack

from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from alma import ALMA, EpisodeRecord, MemorySlice
from alma_crewai import copies, watching
from alma_crewai.asking import NOBODY, Asker, agent_name, asker
from alma_crewai.listener import ALMACrewListener
from alma_crewai.practice import Settings, check_count, check_names
from alma_crewai.records import is_visible, record_of
from alma_crewai.run import Run
from alma_crewai.storage import ALMAStorage

NO_MODEL = "alma/none: this is a copy of an ALMAMemory, which asks no model. Give the ALMAMemory to the crew instead of an agent"
"""What CrewAI reports that it cannot load, when it works with a copy of the memory that is its own `Memory`. No provider has that name."""


class PromptMatch(MemoryMatch):
    """All that matters for a task as one match, which CrewAI puts into the prompt as it is."""

    def format(self) -> str:
        """The notes, fenced and with their tags."""
        return str(self.record.content)


class ALMAMemory(Memory):
    """`Crew(memory=ALMAMemory(alma))`: recalls for the agent that is acting, and learns from the outcome of each task.

    At most `max_tokens` tokens of memories go into a prompt. With `learn=False` it only recalls; with `read_only` no agent may save notes. The
    other settings are those of `Practice`. No LLM, no key and no embedder of CrewAI is used. It belongs at the crew: what an agent has, CrewAI
    copies into something else.
    """

    _storage: ALMAStorage = PrivateAttr()
    _listener: ALMACrewListener = PrivateAttr()
    _agent: str | None = PrivateAttr(default=None)
    _max_tokens: int = PrivateAttr(default=2000)
    _is_closed: bool = PrivateAttr(default=False)

    def __init__(
        self,
        alma: ALMA,
        *,
        max_tokens: int = 2000,
        learn: bool = True,
        read_only: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        check_names(settings, type(self).__name__)
        check_count(max_tokens, "max_tokens")
        agent = settings.get("agent")
        listener = ALMACrewListener(alma, is_of_a_memory=True, **settings)
        storage = ALMAStorage(alma, agent=agent or NOBODY)
        super().__init__(storage=storage, llm=NO_MODEL, embedder=storage, read_only=read_only)
        copies.know(storage.key, self)
        self._agent, self._max_tokens = agent, max_tokens
        self._listener = listener
        if not learn:
            self._listener.close()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Itself: a memory is shared, not copied."""
        return self

    @property
    def listener(self) -> ALMACrewListener:
        """What records the tasks that recall from this memory."""
        return self._listener

    @property
    def errors(self) -> tuple[Exception, ...]:
        """What went wrong in ALMA or in the functions it was given, newest last, at most 100. A crew never fails by it."""
        return self._listener.errors

    @property
    def last_run(self) -> EpisodeRecord | None:
        """The record of the attempt that ended last."""
        return self._listener.last_run

    def is_of(self, alma: ALMA) -> bool:
        """Whether this is the memory of that ALMA's project, and was not closed."""
        return self._storage.alma is alma and not self._is_closed

    def has(self, settings: Settings) -> bool:
        """Whether it was made with these settings."""
        return all(getattr(self._listener.practice, name) == value for name, value in settings.items())

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What matters for a query: for an agent's prompt one match with all of it, otherwise a match a memory, best first.

        `scope` and `categories` narrow notes; what agents learned belongs to them wherever they work. `depth` is not used.
        """

        def keep(found: MemorySlice) -> MemorySlice:
            seen = (
                item
                for item in found.recalled
                if is_visible(item.memory, scope=scope, categories=categories, source=source, include_private=include_private)
            )
            return found.model_copy(update={"recalled": tuple(seen)})

        try:
            who = asker()
            return self._searched(query, limit, keep) if who is None else self._for_prompt(who, query, keep)
        except Exception as problem:
            self._listener.practice.report(problem)
            raise

    def extract_memories(self, content: str) -> list[str]:
        """Nothing: what a task taught is learned from its outcome, not cut out of its answer before a guardrail has seen it."""
        return []

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Keeps a note as knowledge of the acting agent; in the category "user_preference" as a preference of its user, and without a
        user not at all: `ValidationError`. An error stands in `errors`, and is raised: whoever saves has to know that it is not kept."""
        if self.read_only:
            return None
        try:
            note = self._storage.add(
                content,
                agent=self._owner(agent_role),
                user_id=self._user(),
                scope=scope or root_scope,
                categories=categories,
                metadata=metadata,
                source=source,
                private=private,
            )
        except Exception as problem:
            self._listener.practice.report(problem)
            raise
        return record_of(note)

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Keeps several notes, durably when it returns."""
        kept = [
            self.remember(content, scope, categories, metadata, importance, source, private, agent_role, root_scope)
            for content in contents
        ]
        return [record for record in kept if record is not None]

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Puts a note in the place of another, under a new id. `ValidationError` for what was learned: it can only be forgotten."""
        if self.read_only and (kept := self._storage.get_record(record_id)) is not None:
            return kept
        replaced = self._storage.replace(record_id, content=content, scope=scope, categories=categories, metadata=metadata)
        return record_of(replaced)

    def drain_writes(self) -> None:
        """Nothing waits to be written: each call is durable when it returns. A task that was cancelled is closed without a verdict."""
        error, watch = sys.exception(), watching.current()
        if watch is None or watch.run.practice is not self._listener.practice:
            return
        if error is not None and not isinstance(error, Exception):  # cancellation, an interrupt: CrewAI sends no event of those
            watching.abandon(watch, f"cut short by {type(error).__name__}")

    def close(self) -> None:
        """Records no more tasks. The `ALMA` stays open: it belongs to whoever opened it."""
        self._is_closed = True
        self._listener.close()
        super().close()

    def _for_prompt(self, who: Asker, query: str, keep: Callable[[MemorySlice], MemorySlice]) -> list[MemoryMatch]:
        run = self._run_of(who, query)
        if run is None:
            found = self._retrieved(query, self._name(who.role), keep)
            text = found.to_prompt(self._max_tokens)
        else:
            found, text = run.recalled(lambda memories: keep(memories).fitted(self._max_tokens))
        if not text:
            return []
        record = MemoryRecord(
            id=sha256(text.encode()).hexdigest(), content=text
        )  # a slice of several scopes drops what it has seen by its id
        return [PromptMatch(record=record, score=max(item.score for item in found.recalled))]

    def _run_of(self, who: Asker, query: str) -> Run | None:
        """The run that this recall is for; one that begins by it where an agent has no task, or has it from a coworker."""
        watch, practice = watching.current(), self._listener.practice
        if who.task_id is None:
            if not self._listener.is_open or who.agent_id is None:
                return None
            if watch is not None and watch.run.key == who.agent_id:
                watching.abandon(watch, "the agent began something else")
            run = Run(practice, agent=self._name(who.role), task=query, key=who.agent_id, agent_id=who.agent_id, is_task=False)
            return watching.enter(run).run
        if watch is None or not self._listener.is_open:
            return None
        if watch.run.key == who.task_id:
            return watch.run if watch.run.practice is practice else None
        return watching.enter_delegated(practice, role=who.role, task=query, key=who.task_id, agent_id=who.agent_id).run

    def _searched(self, query: str, limit: int, keep: Callable[[MemorySlice], MemorySlice]) -> list[MemoryMatch]:
        found = self._retrieved(query, self._owner(None), keep, top_k=limit)
        return [MemoryMatch(record=record_of(item.memory), score=item.score) for item in found.recalled[:limit]]

    def _retrieved(
        self, query: str, agent: str, keep: Callable[[MemorySlice], MemorySlice], *, top_k: int | None = None
    ) -> MemorySlice:
        return keep(self._listener.practice.retrieve(query, agent, user_id=self._user(), top_k=top_k))

    def _name(self, role: str) -> str:
        return self._agent or agent_name(role)

    def _user(self) -> str | None:
        """The user of the task that is going on, who may not be the one who is present by now; else that one."""
        watch, practice = watching.current(), self._listener.practice
        return watch.run.user if watch is not None and watch.run.practice is practice else practice.user()

    def _owner(self, role: str | None) -> str:
        """Who writes or searches: the agent that is named, else the one that is acting, else nobody in particular."""
        if self._agent or role:
            return self._name(role or "")
        watch = watching.current()
        return watch.run.agent if watch is not None else NOBODY


ALMALongTermMemory = ALMAMemory
"""What CrewAI called long-term memory is `ALMAMemory` now: its separate memories are gone."""
