"""`ALMAMemory`: the memory of a crew, which recalls what helped and learns from the outcome of each task."""

import logging
import sys
from hashlib import sha256
from typing import Any, Literal, Self, Unpack

from crewai import Crew
from crewai.events.types.memory_events import MemoryRetrievalStartedEvent
from crewai.memory.memory_scope import MemoryScope, MemorySlice
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from alma import ALMA, ValidationError
from alma.types.recalled import Recalled
from alma.types.strategies import StrategyRecord
from alma_crewai import events, listener, starts
from alma_crewai.actors import OUTSIDE, Work, asking
from alma_crewai.attempt import Attempt, current
from alma_crewai.recorders import OPEN, Recorder, Settings, check_names
from alma_crewai.records import Sight, record_of, record_of_way
from alma_crewai.storage import ALMAStorage
from alma_integration import LOOP_SECONDS, Integration, Learning, RunContext, document_metadata, documented, in_event_loop

_LOG = logging.getLogger("alma")
NO_MODEL = "alma/none: this is a copy of an ALMAMemory, which asks no model. Give the ALMAMemory to the crew instead of an agent"
"""Model name that CrewAI reports as impossible to load, when it works with a copy of the memory that is its own `Memory`. No provider has
that name."""


class Match(MemoryMatch):
    """A record with the text that CrewAI shows of it unchanged: in a prompt, or to an agent that searched."""

    text: str

    def format(self) -> str:
        return self.text


class ALMAMemory(Learning, Memory):
    """`Crew(memory=ALMAMemory(alma))`: recalls for the acting agent, and learns from the outcome of each task.

    It takes the options of `alma.integration.Options`. `agent` is a name, or a function of the `RunContext`, instead of the acting
    agent's role. With `learn=False` it only recalls; with `read_only` no agent may save notes. No LLM, no key and no embedder of CrewAI
    is used. Give it to the crew: CrewAI copies an agent's memory into something else.
    """

    _storage: ALMAStorage = PrivateAttr()
    _recorder: Recorder = PrivateAttr()
    _integration: Integration = PrivateAttr()

    def __init__(self, alma: ALMA, *, learn: bool = True, read_only: bool = False, **settings: Unpack[Settings]) -> None:
        check_names(settings, type(self).__name__)
        recorder = Recorder(alma, settings)
        agent = settings.get("agent")
        storage = ALMAStorage(alma, agent=agent if isinstance(agent, str) else OUTSIDE)
        super().__init__(storage=storage, llm=NO_MODEL, embedder=storage, read_only=read_only)
        self._recorder, self._integration, self._storage = recorder, recorder.integration, storage
        storage.project = lambda: recorder.integration.scope.project(self._context())
        starts.know(storage.key, self)
        if learn:
            listener.listen(recorder)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Returns itself: a memory is shared, not copied."""
        return self

    @property
    def recorder(self) -> Recorder:
        return self._recorder

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
        """Returns what matters for a query: for an agent's prompt one match with all of it, otherwise one match per memory, best first.

        `scope` and `categories` narrow notes; what agents learned belongs to them wherever they work. `depth` is not used.
        """
        sight = Sight(scope, categories, source, include_private)
        with self._integration.guard("memory could not be used", is_raised=True):
            asked = asking()
            return self._searched(query, limit, sight) if asked is None else self._for_prompt(asked, query, sight)

    def extract_memories(self, content: str) -> list[str]:
        """Returns nothing: the lessons of a task come from its outcome, not from its answer before a guardrail has checked it."""
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
        """Stores a note as knowledge of the acting agent; in the category "user_preference" as a preference of its user, and
        `ValidationError` without a user. An error is kept in `errors` and raised, because the caller has to know that the note is not
        stored. In `crew.test` nothing is stored."""
        if self.read_only:
            return None
        said = self._integration.options.stored(content)
        note = MemoryRecord(content=said, scope=scope or root_scope or "", source=source, private=private)
        note.categories, note.metadata = categories or [], metadata or {}
        attempt = self._attempt()
        if attempt is not None and attempt.is_rehearsal:
            return note
        with self._integration.guard("memory could not be used", is_raised=True):
            named = RunContext(context=Work(agent_role or ""))
            agent = self._integration.agent_of(named) if agent_role else self._acting()
            return record_of(self._storage.add(note, agent=agent, user_id=self._integration.scope.user(self._context())))

    def remember_many(self, contents: list[str], *about: Any, **how: Any) -> list[MemoryRecord]:
        """Stores several notes as `remember` does, durably when it returns."""
        kept = [self.remember(content, *about, **how) for content in contents]
        return [record for record in kept if record is not None]

    def update(self, record_id: str, content: str | None = None, *about: Any, **how: Any) -> MemoryRecord:
        """Replaces a note by another, under a new id. `ValidationError` for a learned memory, which can only be forgotten."""
        kept = self._storage.get_record(record_id)
        if kept is None:
            raise ValidationError(f"there is no note of id {record_id!r}")
        said = None if content is None else self._integration.options.stored(content)
        return kept if self.read_only else super().update(record_id, said, *about, **how)

    def drain_writes(self) -> None:
        """Waits for background writes, when CrewAI asks at the end of a crew; in an event loop for 50 ms at most.

        A task that was cancelled ends without a verdict here: CrewAI has no event for that.
        """
        error, attempt = sys.exception(), self._attempt()
        if attempt is not None and error is not None and not isinstance(error, Exception):
            attempt.abandon(error)
        if in_event_loop():
            self._integration.writes.wait(LOOP_SECONDS)

    def close(self) -> None:
        """Stops recording. The `ALMA` stays open: it belongs to the code that opened it."""
        listener.stop(self._recorder)
        self.flush(LOOP_SECONDS if in_event_loop() else self._integration.options.lock_timeout)
        super().close()

    def _for_prompt(self, asked: MemoryRetrievalStartedEvent, query: str, sight: Sight) -> list[MemoryMatch]:
        attempt, options = self._attempt_of(asked, query), self._integration.options
        if options.inject == "none":
            return []
        if attempt is None:
            context = self._integration.pinned(RunContext(context=Work(asked.agent_role or "")))
            known = self._integration.retrieve(query, self._integration.agent_of(context), context)
            found, text = sight.of(known).fitted(options.max_tokens)
        else:
            found, text = attempt.recalled(sight)
        if not text:
            return []
        key = sha256(text.encode()).hexdigest()  # a slice of several scopes deduplicates by this id
        best = max((item.score for item in found.recalled), default=1.0)
        return [Match(record=MemoryRecord(id=key, content=text), score=best, text=text)]

    def _attempt_of(self, asked: MemoryRetrievalStartedEvent, query: str) -> Attempt | None:
        """Returns the attempt that this recall is for: the task's, or one that begins with it where an agent has no task."""
        innermost, attempt = current(), self._attempt()
        if innermost is not None and innermost.is_harnessed:
            return innermost
        if asked.task_id is not None:
            return attempt if attempt is not None and attempt.key == asked.task_id else None
        if asked.agent_id is None or self._recorder not in OPEN:
            return None
        if self._integration.options.strip_tags:
            self._integration.warn_once("strip_tags: tags stay in what agent.kickoff() returns, which CrewAI lets no hook change")
        context = RunContext(context=Work(asked.agent_role or ""))
        return events.begin(self._recorder, context, query, key=asked.agent_id, agent_id=asked.agent_id, kind="alone")

    def _searched(self, query: str, limit: int, sight: Sight) -> list[MemoryMatch]:
        found = sight.of(self._integration.retrieve(query, self._acting(), self._context(), top_k=limit))
        matches: list[MemoryMatch] = [*map(_match, found.recalled), *map(_way_match, documented(found).strategies)]
        return matches[:limit]

    def _attempt(self) -> Attempt | None:
        """Returns the current attempt, if this memory records it."""
        attempt = current()
        return attempt if attempt is not None and attempt.run.integration is self._integration else None

    def _context(self) -> RunContext:
        """Returns the context of a call: a task belongs to its user to its end, whichever user is present by then."""
        attempt = self._attempt()
        return attempt.run.context if attempt is not None else self._integration.pinned(RunContext(context=Work()))

    def _acting(self) -> str:
        """Returns who writes or searches: the acting agent, else the default one."""
        attempt = current()
        return attempt.agent if attempt is not None else self._storage.agent


def attach_alma(crew: Crew, alma: ALMA, **settings: Unpack[Settings]) -> ALMAMemory:
    """Gives an existing crew, say one built by `@CrewBase`, an `ALMAMemory` with these settings, and returns it.

    Repeating it changes nothing while that memory is open; `ValidationError` for different settings. A scope or a slice of a memory is
    replaced, with a warning. Agents that have a memory of their own keep it, and recall from that; each is named in a warning.
    """
    check_names(settings, "attach_alma")
    attached = crew._memory
    if isinstance(attached, MemoryScope | MemorySlice):
        _LOG.warning("the crew recalled from a %s; it recalls from the whole memory now", type(attached).__name__)
    if not isinstance(attached, ALMAMemory) or attached.recorder.is_closed or attached.recorder.integration.alma is not alma:
        crew.memory = crew._memory = attached = ALMAMemory(alma, **settings)
    elif not settings.items() <= attached.recorder.settings.items():
        raise ValidationError("the crew has an ALMAMemory with other settings; close that one first")
    for agent in crew.agents:
        own = getattr(agent, "memory", None)
        if own and not isinstance(own, ALMAMemory):
            _LOG.warning("agent %r has a memory of its own and recalls from that, not from ALMA", agent.role)
    return attached


def _match(item: Recalled) -> Match:
    """Returns one memory found by a search, with its fields and score. An agent sees the note without a tag: tags are for the prompt."""
    record = record_of(item.memory).model_copy(update={"metadata": document_metadata(item)})
    return Match(record=record, score=item.score, text=f"- {record.content}")


def _way_match(way: StrategyRecord) -> Match:
    """Returns a way that was tried, where a search finds nothing else."""
    record = record_of_way(way)
    return Match(record=record, score=way.expected, text=f"- {record.content}")


ALMALongTermMemory = ALMAMemory
"""CrewAI's former long-term memory is `ALMAMemory` now: its separate memories no longer exist."""
