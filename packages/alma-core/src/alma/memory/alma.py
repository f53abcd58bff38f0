"""`ALMA`, the one object that users hold: a line a method, each use case in a file of its own."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from alma.config import load_settings
from alma.episode import Episode
from alma.errors import ConfigurationError
from alma.flags import checks_flags
from alma.memory import (
    adding,
    assessing,
    attempts,
    behind,
    cautioning,
    episodes,
    explain,
    forecasts,
    kinds,
    opening,
    recall,
    record,
    reviewing,
    usage,
)
from alma.memory import arguments as args
from alma.memory import strategies as tried
from alma.memory.damage import names_damage
from alma.memory.search import ARMS
from alma.memory.swaps import by_place
from alma.memory.upkeep import Upkeep
from alma.protocols import Clock, Embedder
from alma.types.custom import CustomMemoryType
from alma.types.episodes import EpisodeRecord
from alma.types.explanation import RetrievalExplanation
from alma.types.identity import utc_now
from alma.types.kinds import FeedbackSignal, MemoryType, Verdict, VerdictSource
from alma.types.memories import AntiPattern, AnyMemory, DomainKnowledge, Heuristic, Memory, Outcome, UserPreference
from alma.types.passages import Draft, Passage
from alma.types.reports import UsageReport
from alma.types.reviews import ReviewReport
from alma.types.scope import MemoryScope
from alma.types.slice import MemorySlice
from alma.types.strategies import ActionCheck, Assessment, StrategyTable


@names_damage(lambda alma: alma._store.storage)
@checks_flags
class ALMA(Upkeep):
    """A project's memory: retrieve before a task, learn after it.

    Open one with `ALMA.open` or `ALMA.from_config`. Threads may share it, and processes may share its folder. Every method that takes an
    `agent` acts in that agent's scope. Errors are those of `alma.errors`; a call that raises has stored nothing, a call that returned has stored
    its work durably.
    """

    @classmethod
    def open(
        cls,
        storage_dir: str | Path = ".alma",
        *,
        project_id: str,
        agents: Mapping[str, MemoryScope | Mapping[str, object]] | None = None,
        embedding_provider: str | Embedder = "auto",
        embedding_dim: int | None = None,
        db_name: str = "alma.db",
        forgetting: Mapping[str, object] | None = None,
        maintenance: Mapping[str, object] | None = None,
        clock: Clock = utc_now,
    ) -> Self:
        """The memory in a folder, made if it is not there yet; no configuration file needed.

        `embedding_provider` is a name or an `Embedder`; `auto` takes the one that the database was made with, and for a new one the best that is
        installed. `agents` has the rules of those agents that have any; `forgetting` and `maintenance` are as in a configuration file.
        """
        name = args.checked_name(project_id, "project_id")
        store = opening.open_store(
            storage_dir,
            db_name=db_name,
            embedder=embedding_provider,
            embedding_dim=embedding_dim,
            agents=agents,
            scoring=None,
            clock=clock,
            forgetting=forgetting,
            maintenance=maintenance,
        )
        return cls(episodes.recovered(store.room(name)))

    @classmethod
    def from_config(cls, path: str | Path = ".alma/config.yaml", *, clock: Clock = utc_now) -> Self:
        """The memory that a configuration file describes. `ConfigurationError` names the file and the key that is wrong."""
        settings = load_settings(path)
        store = opening.open_store(
            settings.storage_dir,
            db_name=settings.db_name,
            embedder=settings.embedding_provider,
            embedding_dim=settings.embedding_dim,
            agents=settings.agents,
            scoring=settings.scoring,
            clock=clock,
            embedder_options=settings.embedder_options,
            forgetting=settings.forgetting,
            maintenance=settings.maintenance,
        )
        return cls(episodes.recovered(store.room(settings.project_id)))

    def for_project(self, project_id: str) -> Self:
        """The memory of another project in the same store. Closing either closes both."""
        return type(self)(episodes.recovered(self._store.room(args.checked_name(project_id, "project_id"))))

    def close(self) -> None:
        """Closes the store, for all its projects. Closing twice is harmless; any other call afterwards is a `StorageError`."""
        self._store.close()

    def before_close(self, call: Callable[[], object]) -> Callable[[], None]:
        """Has `call` made when the store is about to close and still answers, for work that is done in the background.

        What is returned takes it back. An error of it is logged and keeps nothing from closing.
        """
        return self._store.before_close(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        """Whether both are the same project of the same open store, however they were come by."""
        return isinstance(other, ALMA) and self._room is other._room

    def __hash__(self) -> int:
        return hash((ALMA, self.project_id))

    def __repr__(self) -> str:
        return f"<ALMA project {self.project_id!r} in {self._store.folder}>"

    @property
    def project_id(self) -> str:
        """The project whose memory this is."""
        return self._room.name

    @property
    def agents(self) -> Mapping[str, MemoryScope]:
        """The rules of the agents that have any."""
        return self._store.agents

    @by_place("task")
    def retrieve(
        self,
        task: str | None = None,
        agent: str | None = None,
        *,
        query: str | None = None,
        top_k: int = 5,
        user_id: str | None = None,
        task_type: str | None = None,
        include_shared: bool = True,
        profile: str | None = None,
        weights: Mapping[str, float] | None = None,
        arms: Collection[str] = ARMS,
        explain: bool = False,
    ) -> MemorySlice:
        """What matters for a task: at most `top_k` memories of each kind that `agent` may read, best first.

        Rules that were learned are shown where their evidence is near the task, or of its `task_type`, with the counts that hold there.

        Preferences come with the `user_id` they belong to. `query` is another name for `task`. `profile="recall"` ranks by similarity
        alone, whatever became of a memory before; `weights` sets the four factors. `arms` can leave out a search ("dense", "text"), to see what
        each contributes. With `explain`, `recalled` says of each memory by which numbers it has its place. Writes nothing.
        """
        return recall.retrieve(
            self._room,
            task=query if task is None else task,
            agent=agent,
            top_k=top_k,
            user_id=user_id,
            task_type=task_type,
            include_shared=include_shared,
            profile=profile,
            weights=weights,
            arms=arms,
            explain=explain,
        )

    @by_place("query")
    def explain_retrieval(
        self,
        query: str,
        memory_id: str,
        agent: str | None = None,
        user_id: str | None = None,
        top_k: int = 5,
        *,
        task_type: str | None = None,
        include_shared: bool = True,
        profile: str | None = None,
        weights: Mapping[str, float] | None = None,
        arms: Collection[str] = ARMS,
    ) -> RetrievalExplanation:
        """Why `retrieve` with the same arguments returns a memory, or the first filter that keeps it out and what would let it in.

        `str()` of it begins "Selected because: " or "Not selected because: ". Without an `agent` it is asked as the memory's own owner.
        An id that is not there is an explanation, not an error. Writes nothing.
        """
        return explain.explain_retrieval(
            self._room,
            query=query,
            memory_id=memory_id,
            agent=agent,
            user_id=user_id,
            top_k=top_k,
            task_type=task_type,
            include_shared=include_shared,
            profile=profile,
            weights=weights,
            arms=arms,
        )

    @by_place("task")
    def learn(
        self,
        agent: str,
        task: str,
        outcome: str | bool | Verdict,
        strategy_used: str | None = None,
        *,
        task_type: str | None = None,
        task_id: str | None = None,
        difficulty: str | None = None,
        verdict_source: str | VerdictSource = VerdictSource.CALLER,
        duration_ms: float | None = None,
        error_message: str | None = None,
        feedback: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Records how a task went. `outcome` is "success", "failure", "partial" or "unverified" in any case, or `True` or `False`.

        A task is told from others by its words, or by `task_id` where one is given; tasks of a known `difficulty` are compared among themselves.
        `verdict_source` says who judged: "tool", "person", "evaluator", "caller" (the program), "agent" (its own word) or "imported"; the last two
        alone form no proven rule. Without a `task_type` the nearest of the agent's configured categories is taken. `timestamp` is when it happened,
        now by default.
        The same `idempotency_key` counts once in a project: sent again, it gives the first outcome back and writes nothing; `ConflictError` if the
        agent, the task or the outcome is another. `ScopeViolationError` for what the agent may not learn.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        return record.learn(self._room, given)

    def learn_many(self, items: Iterable[Mapping[str, Any]]) -> list[Outcome]:
        """Records many outcomes in one transaction, all or none. Each item has the arguments of `learn`, its `idempotency_key` too."""
        return record.learn_many(self._room, items)

    def add_user_preference(
        self,
        user_id: str,
        category: str,
        preference: str,
        source: str = "explicit_instruction",
        *,
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> UserPreference:
        """Records what a user wants. Read only with that `user_id`, by any agent of the project."""
        return record.user_preference(
            self._room, user_id=user_id, category=category, preference=preference, source=source, agent=agent, metadata=metadata
        )

    def add_domain_knowledge(
        self,
        agent: str,
        domain: str,
        fact: str,
        source: str = "user_stated",
        *,
        metadata: Mapping[str, Any] | None = None,
        passages: Sequence[Passage] | None = None,
    ) -> DomainKnowledge:
        """Records a fact. `passages` gives the pieces to search it by, say the turns of a conversation; without, it is cut by itself.

        `ScopeViolationError` if the agent may not learn in that domain.
        """
        return record.domain_knowledge(
            self._room, agent=agent, domain=domain, fact=fact, source=source, metadata=metadata, passages=passages
        )

    def add_anti_pattern(
        self,
        agent: str,
        pattern: str,
        why_bad: str,
        better_alternative: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> AntiPattern:
        """Records what not to do, why, and what to do instead."""
        return record.anti_pattern(
            self._room, agent=agent, pattern=pattern, why_bad=why_bad, better_alternative=better_alternative, metadata=metadata
        )

    def add_heuristic(self, agent: str, condition: str, strategy: str, *, metadata: Mapping[str, Any] | None = None) -> Heuristic:
        """Records a strategy that somebody states; it has no record of successes yet."""
        return record.heuristic(self._room, agent=agent, condition=condition, strategy=strategy, metadata=metadata)

    def add(
        self, /, kind: str, agent: str | None = None, *, metadata: Mapping[str, Any] | None = None, **fields: Any
    ) -> AnyMemory:
        """Records a memory of any kind: of a registered one with the fields of its definition, of a built-in one with the arguments of
        its own method (`learn` for an outcome). `ValidationError` names the field that is wrong, missing or unknown.
        """
        return adding.add(self._room, kind, agent=agent, metadata=metadata, fields=fields)

    def register_memory_type(self, kind: CustomMemoryType) -> CustomMemoryType:
        """Makes a kind known to this project, in every process and for good, and gives the definition that is in force.

        Registering the same again changes nothing. It may grow by fields that may be left out, and change its weights; anything else that
        differs from what is registered is a `ConflictError`.
        """
        return kinds.register(self._room, kind)

    def memory_types(self) -> dict[str, CustomMemoryType]:
        """The kinds that were registered in this project, by name."""
        return kinds.registered(self._room)

    def add_many(self, memories: Iterable[Memory | Draft]) -> list[str]:
        """Records memories of any kinds in one transaction, all or none, and gives their ids."""
        return record.add_many(self._room, memories)

    def record_usage(
        self,
        retrieved_memory_ids: Sequence[str],
        used_memory_ids: Sequence[str] | None = None,
        memory_type: MemoryType | str | None = None,
        agent: str | None = None,
        *,
        user_id: str | None = None,
    ) -> UsageReport:
        """Counts what was used of what was shown; what was shown and not used counts as passed over.

        `used_memory_ids=None` says that nobody knows: nothing is counted. `memory_type` is not needed, ids are unique; ids that the agent
        cannot see are reported and logged, not raised.
        """
        return usage.record_usage(self._room, retrieved=retrieved_memory_ids, used=used_memory_ids, agent=agent, user_id=user_id)

    def record_feedback(
        self,
        memory_id: str,
        memory_type: MemoryType | str | None = None,
        signal: FeedbackSignal | str | None = None,
        agent: str | None = None,
        *,
        user_id: str | None = None,
    ) -> None:
        """Counts what somebody said about a memory: "used", "ignored", "thumbs_up" or "thumbs_down". `memory_type` is not needed."""
        usage.record_feedback(self._room, memory_id=memory_id, signal=signal, agent=agent, user_id=user_id)

    @by_place("task")
    def episode(
        self,
        agent: str,
        task: str,
        *,
        user_id: str | None = None,
        task_type: str | None = None,
        episode_id: str | None = None,
        top_k: int = 5,
        memories: MemorySlice | None = None,
        deferred: bool = False,
    ) -> Episode:
        """Begins an attempt at a task: retrieves what matters for it, and keeps what was shown, done and achieved.

        `memories` is what was shown, if the caller has retrieved it for this agent before; nothing is retrieved then.
        Use it in a `with` block, or end it yourself. `ConflictError` if there is an episode of that `episode_id` already, `ScopeViolationError` if
        the agent may not learn from the task. One that a crash left open is closed as abandoned when its project is next opened. `deferred` spares
        a write: the beginning lands with the first step, the ending or the suspension. Until then only this process sees it, and a crash leaves no
        trace of it. With an `episode_id` it lands at once all the same.
        """
        return episodes.begin(
            self._room,
            agent=agent,
            task=task,
            user_id=user_id,
            task_type=task_type,
            episode_id=episode_id,
            top_k=top_k,
            memories=memories,
            deferred=deferred,
        )

    def resume_episode(self, episode_id: str, *, memories: MemorySlice | None = None) -> Episode:
        """Takes up an episode that was suspended. `memories` is the slice it began with, if the caller kept it (`MemorySlice.to_json`).

        Citations are found without it too. `ConflictError` if the episode has ended, or if a running process holds it.
        """
        return episodes.resume(self._room, episode_id=episode_id, memories=memories)

    def settle(
        self,
        episode_id: str,
        outcome: str | bool | Verdict,
        reason: str | None = None,
        *,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord:
        """Sets or corrects the verdict of an episode that has ended, in its record and in the memory of it, in one transaction.

        `source` says who judges and becomes the memory's `verdict_source`; without one, that stays as it is. The same verdict of the same source
        again changes nothing. `MemoryNotFoundError` for an unknown episode, `ConflictError` for one that is still open, and where a source whose
        word is trusted would replace one whose word is not, or the reverse: their evidence is kept apart.
        """
        return episodes.settle(self._room, episode_id=episode_id, outcome=outcome, reason=reason, source=source)

    @by_place("task")
    def strategies(
        self,
        task: str | None = None,
        agent: str | None = None,
        *,
        task_type: str | None = None,
        among: Sequence[str] | None = None,
        explore: bool = False,
        seed: int | None = None,
        include_steps: bool = False,
        limit: int = 20,
    ) -> StrategyTable:
        """The record of the strategies tried for tasks like this one, of a type, or at all: the highest `expected` rate of success first.

        `among` names the strategies to compare, tried or not. `explore` orders by the upper bound of the rate instead. Ties are broken at random by
        `seed`, else always alike. What agents tried that share with this one counts half; rows on nothing else say `shared_from`. `include_steps`
        adds what single steps of episodes tried. Looked at are the newest 4,096 cells of task and strategy of each agent, near a task 128 strategies.
        """
        return tried.strategies(
            self._room,
            task=task,
            agent=agent,
            task_type=task_type,
            include_steps=include_steps,
            limit=limit,
            among=among,
            explore=explore,
            seed=seed,
        )

    def outcomes_behind(self, memory_id: str, limit: int = 20) -> list[Outcome]:
        """The outcomes that a heuristic or an anti-pattern was learned from, newest first, forgotten ones too; none if somebody stated it.

        `MemoryNotFoundError` if there is no such memory.
        """
        return behind.outcomes_behind(self._room, memory_id=memory_id, limit=limit)

    @by_place("action")
    def check(self, agent: str, action: str, task: str | None = None, *, task_type: str | None = None) -> ActionCheck:
        """The anti-patterns, learned or stated, that an action about to be taken matches. Takes milliseconds, writes nothing, forbids nothing.

        An action is a call, a command or a sentence: arguments that a pattern does not name do not matter. With a `task` or a `task_type`, what
        was learned warns only where it was learned from like tasks; what was stated always does.
        """
        return cautioning.check(self._room, agent=agent, action=action, task=task, task_type=task_type)

    @by_place("context")
    def assess(
        self, strategy: str | None = None, context: str = "", agent: str = "", *, task_type: str | None = None
    ) -> Assessment:
        """How likely a strategy is to succeed in a context, from the record of like tasks and of those of the same `task_type`; without a strategy,
        how likely the task is to succeed whatever is tried. Where nothing is known the verdict is "unknown"."""
        return assessing.assess(self._room, strategy=strategy, context=context, agent=agent, task_type=task_type)

    def get_episode(self, episode_id: str) -> EpisodeRecord:
        """What is kept of an episode: what was shown, the steps, how it ended. `MemoryNotFoundError` if there is none of that id.

        One that ended unjudged has a `forecast` made from its steps, if at least five of the agent's episodes were judged.
        """
        return forecasts.with_forecast(self._room, attempts.get(self._room, episode_id))

    def recent_episodes(self, limit: int = 20) -> list[EpisodeRecord]:
        """The episodes that began last, newest first. Those that ended unjudged have a `forecast`, as by `get_episode`."""
        return forecasts.with_forecasts(self._room, attempts.recent(self._room, limit=limit))

    def review(self, agent: str | None = None, limit: int = 20) -> ReviewReport:
        """What a person should judge first: unjudged episodes, least foreseeable first, and those judged otherwise than forecast.

        Of one agent, or of all. Verdicts are given by `settle(…, source="person")`; what a person judged is not listed as surprising again. Looked
        at are the newest 500 endings; a forecast rests on the newest 100 judged episodes of the agent. Writes nothing.
        """
        return reviewing.review(self._room, agent=agent, limit=limit)

    def get(self, memory_id: str, *, agent: str | None = None, user_id: str | None = None) -> AnyMemory:
        """A memory by its id; with `agent`, only one that this agent can see. `MemoryNotFoundError` otherwise."""
        return usage.get(self._room, memory_id, agent=agent, user_id=user_id)


def checked_alma(alma: object) -> ALMA:
    """What an integration was given, if it is an ALMA. `ConfigurationError` if not, `StorageError` if it was closed."""
    if not isinstance(alma, ALMA):
        raise ConfigurationError(f"alma must be an open ALMA, not {type(alma).__name__}; asyncio is served by the same one")
    alma._store.check_open()
    return alma
