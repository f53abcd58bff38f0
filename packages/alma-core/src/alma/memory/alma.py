"""`ALMA`, the one object that users hold: one line per method, each use case in a file of its own."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from alma.config import load_settings
from alma.episode import Episode
from alma.errors import ConfigurationError
from alma.flags import checks_flags
from alma.memory import arguments as args
from alma.memory import kinds, opening
from alma.memory.administration import Admin
from alma.memory.argument_order import by_place
from alma.memory.around import Around
from alma.memory.damage import names_damage
from alma.memory.episodes import forecasts, lifecycle, records, review, settling, usage
from alma.memory.learn import adding, conversations, record
from alma.memory.learn.request import LearnRequest
from alma.memory.observed import Observed
from alma.memory.package_records import Records, checked_kind
from alma.memory.recall import assess, check, explain, provenance, retrieve, supporting_outcomes
from alma.memory.recall import strategies as tried
from alma.memory.recall.search import ARMS
from alma.memory.redacting import Redact
from alma.protocols import Clock, Embedder, Store
from alma.storage.encryption.keys import EncryptionKey
from alma.storage.factories import SQLITE
from alma.types.custom import CustomMemoryType
from alma.types.episodes import EpisodeRecord
from alma.types.explanation import RetrievalExplanation
from alma.types.identity import utc_now
from alma.types.kinds import FeedbackSignal, MemoryType, Verdict, VerdictSource
from alma.types.memories import (
    AntiPattern,
    AnyMemory,
    Conversation,
    DomainKnowledge,
    Heuristic,
    Memory,
    Outcome,
    UserPreference,
)
from alma.types.passages import Draft, Passage
from alma.types.provenance import MemoryProvenance
from alma.types.reports import FeedbackReport, UsageReport
from alma.types.reviews import ReviewReport
from alma.types.scope import MemoryScope, UserWall
from alma.types.slice import MemorySlice
from alma.types.strategies import ActionCheck, Assessment, StrategyTable
from alma.types.temporal import TemporalFilter


@names_damage(lambda alma: alma._store.storage)
@checks_flags
class ALMA(Admin, Around, Observed):
    """A project's memory: retrieve before a task, learn after it.

    Open one with `ALMA.open` or `ALMA.from_config`. Threads may share it, and processes may share its folder. Every method that takes an
    `agent` acts in that agent's scope. Errors are those of `alma.errors`; a call that raises has stored nothing, a call that returned has
    stored its work durably.
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
        lock_timeout: float | None = None,
        redact: Redact = "on",
        users: str = UserWall.SEPARATE,
        encryption_key: EncryptionKey | None = None,
        storage: str = SQLITE,
        storage_options: Mapping[str, object] | None = None,
        clock: Clock = utc_now,
    ) -> Self:
        """Opens the memory in a folder, and creates it if necessary; no configuration file needed.

        `embedding_provider` is a name or an `Embedder`; `auto` takes the one that the database was made with, and for a new one the best
        that is installed. `agents` has the rules of agents; `forgetting` and `maintenance` are as in a configuration file. `lock_timeout`
        is how many seconds, 0 to 3600, a call waits while another process writes, 30 by default; see `alma.lock_timeout`.
        `redact` says what is replaced in each text before it is stored: secrets ("on"), personal data too ("personal"), nothing ("off"), or
        what a function of yours replaces; see `docs/security.md`. `users` says what crosses between users, of what agents recorded for
        them: counts and strategies without their words ("separate"), nothing ("isolated"), everything ("shared"); see `docs/users.md`.
        `encryption_key` encrypts a new store and opens an encrypted one: 32 bytes, the path of a key file, or a function that returns a key.
        `storage` is the kind of store, or a URL such as `postgres://host/database`,
        with the settings of its block in a configuration; the folder then holds caches alone. See `docs/backends.md`.
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
            lock_timeout=lock_timeout,
            redact=redact,
            users=users,
            encryption_key=encryption_key,
            storage=storage,
            options=storage_options,
        )
        return cls(lifecycle.recovered(store.room(name)))

    @classmethod
    def from_config(cls, path: str | Path = ".alma/config.yaml", *, clock: Clock = utc_now) -> Self:
        """Opens the memory that a configuration file describes. `ConfigurationError` names the file and the key that is wrong."""
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
            lock_timeout=settings.lock_timeout,
            redact=settings.redact,
            users=settings.users,
            encryption_key=opening.configured_key(settings),
            storage=settings.storage,
            options=settings.storage_options,
        )
        return cls(lifecycle.recovered(store.room(settings.project_id)))

    @classmethod
    def quickstart(
        cls, project_id: str = "my-project", storage_dir: str | Path = ".alma", agent: str | None = None, **options: Any
    ) -> Self:
        """Calls `ALMA.open(storage_dir, project_id=project_id, **options)`. `agent` is ignored, as it is by alma-memory, which has this name."""
        return cls.open(storage_dir, project_id=project_id, **options)

    def for_project(self, project_id: str) -> Self:
        """Returns the memory of another project in the same store. Closing either closes both."""
        return type(self)(lifecycle.recovered(self._store.room(args.checked_name(project_id, "project_id"))))

    def close(self) -> None:
        """Closes the store, for all its projects. Closing twice is harmless; any other call afterwards is a `StorageError`."""
        self._store.close()

    def before_close(self, call: Callable[[], object]) -> Callable[[], None]:
        """Registers a callback that runs before the store closes, while it still works: for work in the background.

        Returns a function that removes the callback. An error of the callback is logged and does not prevent closing.
        """
        return self._store.before_close(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        """Compares by project and open store, however the two objects were obtained."""
        return isinstance(other, ALMA) and self._room is other._room

    def __hash__(self) -> int:
        return hash((ALMA, self.project_id))

    def __repr__(self) -> str:
        return f"<ALMA project {self.project_id!r} in {self._store.folder}>"

    @property
    def project_id(self) -> str:
        """Id of the project."""
        return self._room.name

    @property
    def agents(self) -> Mapping[str, MemoryScope]:
        """Rules of the configured agents."""
        return self._store.agents

    @property
    def storage(self) -> Store:
        """The store behind this memory: `alma.protocols.Store`."""
        return self._store.storage

    @property
    def admin(self) -> Admin:
        """History, forgetting, export, backup, verification. This class has the same methods, too."""
        return Admin(self._opened)

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
        verified: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        temporal_filter: TemporalFilter | None = None,
    ) -> MemorySlice:
        """Returns what matters for a task: at most `top_k` memories of each kind that `agent` may read, best first.

        Learned rules are shown where their evidence is near the task, or of its `task_type`, with the counts that hold there.

        Preferences, and what else was recorded for a user, come with the `user_id` they belong to.

        `query` is another name for `task`. `profile="recall"` ranks by similarity
        alone, without the record of a memory; `weights` sets the four factors. `arms` can leave out a search ("dense", "text"), to see
        what each contributes. With `explain`, `recalled` has the numbers behind each memory's rank. Writes nothing.

        Facts of one agent and preferences of the user that contradict each other are listed in `contradictions`; the better-sourced, then newer one
        comes first, and `verified=True` leaves the other out.

        `since` and `until` limit when what is remembered happened or was last confirmed, or `temporal_filter` does. `as_of` asks from a past
        moment: what was recorded later is left out. Naive times are taken as UTC.
        """
        return retrieve.retrieve(
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
            verified=verified,
            since=since,
            until=until,
            as_of=as_of,
            temporal_filter=temporal_filter,
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
        verified: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        temporal_filter: TemporalFilter | None = None,
    ) -> RetrievalExplanation:
        """Explains why `retrieve` with the same arguments returns a memory, or the first filter that excludes it and what would include
        it.

        Its `str()` begins "Selected because: " or "Not selected because: ". Without an `agent`, the reader is the memory's own owner. An
        unknown id is an explanation, not an error. Writes nothing.
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
            verified=verified,
            since=since,
            until=until,
            as_of=as_of,
            temporal_filter=temporal_filter,
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
        user_id: str | None = None,
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
        """Records the outcome of a task. `outcome` is "success", "failure", "partial" or "unverified" in any case, or `True` or `False`.

        What is recorded for a user, with `user_id`, is read only with that `user_id`.

        Tasks are distinguished by their words, or by `task_id` where one is given; tasks of a known `difficulty` are compared among
        themselves. `verdict_source` says who judged: "tool", "person", "evaluator", "caller" (the program), "agent" (its own word) or
        "imported"; the last two alone form no proven rule. Without a `task_type` the nearest of the agent's configured categories is
        taken. `timestamp` is when it happened, now by default.

        The same `idempotency_key` counts once in a project: sent again, it returns the first outcome and writes nothing; `ConflictError`
        if the agent, the task or the outcome differs. `ScopeViolationError` for what the agent may not learn.
        """
        request = LearnRequest(
            agent=agent,
            task=task,
            outcome=outcome,
            strategy_used=strategy_used,
            task_type=task_type,
            user_id=user_id,
            task_id=task_id,
            difficulty=difficulty,
            verdict_source=verdict_source,
            duration_ms=duration_ms,
            error_message=error_message,
            feedback=feedback,
            metadata=metadata,
            timestamp=timestamp,
            idempotency_key=idempotency_key,
        )
        return record.learn(self._room, request)

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
        """Records a preference of a user. It is read only with that `user_id`, by any agent of the project."""
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
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        passages: Sequence[Passage] | None = None,
    ) -> DomainKnowledge:
        """Records a fact. `passages` gives the pieces to search it by, say the turns of a conversation; by default it is split
        automatically.

        With a `user_id` it is read only with that `user_id`. `ScopeViolationError` if the agent may not learn in that domain.
        """
        return record.domain_knowledge(
            self._room,
            agent=agent,
            domain=domain,
            fact=fact,
            source=source,
            metadata=metadata,
            passages=passages,
            user_id=user_id,
        )

    def add_anti_pattern(
        self,
        agent: str,
        pattern: str,
        why_bad: str,
        better_alternative: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AntiPattern:
        """Records a way that fails, why, and what to do instead."""
        return record.anti_pattern(
            self._room,
            agent=agent,
            pattern=pattern,
            why_bad=why_bad,
            better_alternative=better_alternative,
            metadata=metadata,
            user_id=user_id,
        )

    def add_conversation(
        self,
        messages: Iterable[Mapping[str, Any] | tuple[str, str]],
        agent: str,
        session_id: str,
        *,
        at: datetime | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """Stores a conversation, searched by its sentences. A message is `{"role": …, "content": …}`, as model APIs have it, or (speaker, text).

        What people say is found by meaning and by words; what has the role of an assistant or a tool, by words, which weigh half. Messages of a
        system are left out.
        `at` is when the conversation took place, now by default. In a slice `metadata["hits"]` lists what of it is nearest to the question.
        """
        return conversations.add_conversation(
            self._room, messages=messages, agent=agent, session_id=session_id, at=at, metadata=metadata, user_id=user_id
        )

    def add_heuristic(
        self,
        agent: str,
        condition: str,
        strategy: str,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Heuristic:
        """Records a strategy that a person or a program states. It has no record of successes yet."""
        return record.heuristic(
            self._room, agent=agent, condition=condition, strategy=strategy, metadata=metadata, user_id=user_id
        )

    def add(
        self,
        /,
        kind: str,
        agent: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> AnyMemory:
        """Records a memory of any kind: of a registered one with the fields of its definition, of a built-in one with the arguments of
        its own method (`learn` for an outcome). `ValidationError` names the field that is wrong, missing or unknown.
        """
        return adding.add(self._room, kind, agent=agent, user_id=user_id, metadata=metadata, fields=fields)

    def register_memory_type(self, kind: CustomMemoryType) -> CustomMemoryType:
        """Registers a kind with this project, permanently and for every process. Returns the definition in force.

        Registering the same again changes nothing. A kind may gain optional fields, and change its weights; any other difference from the
        registered definition is a `ConflictError`.
        """
        return kinds.register(self._room, kind)

    def memory_types(self) -> dict[str, CustomMemoryType]:
        """Returns the kinds that were registered in this project, by name."""
        return kinds.registered(self._room)

    def add_many(self, memories: Iterable[Memory | Draft]) -> list[str]:
        """Records memories of any kinds in one transaction, all or none, and returns their ids."""
        return record.add_many(self._room, memories)

    def record_usage(
        self,
        retrieved_memory_ids: Sequence[str],
        used_memory_ids: Sequence[str] | None = None,
        memory_type: MemoryType | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> UsageReport:
        """Counts which of the memories shown were used; the others count as ignored.

        With `used_memory_ids=None` the usage is unknown, and nothing is counted. Ids that the agent cannot see are reported and logged,
        not raised. `memory_type` and `query` are not needed: ids are unique.
        """
        return usage.record_usage(self._room, retrieved=retrieved_memory_ids, used=used_memory_ids, agent=agent, user_id=user_id)

    def record_feedback(
        self,
        memory_id: str,
        memory_type: MemoryType | str | None = None,
        signal: FeedbackSignal | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> FeedbackReport:
        """Counts one signal about a memory: "used", "ignored", "thumbs_up" or "thumbs_down".

        An id that the agent cannot see is reported and logged, not raised, as by `record_usage`. `memory_type` and `query` are not
        needed.
        """
        return usage.record_feedback(self._room, memory_id=memory_id, signal=signal, agent=agent, user_id=user_id)

    @by_place("task")
    def episode(
        self,
        agent: str,
        task: str,
        *,
        user_id: str | None = None,
        task_type: str | None = None,
        episode_id: str | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
        top_k: int = 5,
        memories: MemorySlice | None = None,
        deferred: bool = False,
    ) -> Episode:
        """Begins an attempt at a task: retrieves what matters for it, and records what was shown and done, and the outcome.

        `memories` is the slice to show, if the caller has retrieved it for this agent before; nothing is retrieved then. Use the episode
        in a `with` block, or end it yourself. `ConflictError` if an episode of that `episode_id` exists, `ScopeViolationError` if the
        agent may not learn from the task. An episode that a crash left open is closed as abandoned when its project is next opened.
        `deferred` saves a write: the beginning is stored with the first step, the ending or the suspension. Until then only this process
        sees the episode, and a crash leaves no trace of it. With an `episode_id` it is stored at once all the same.

        `run_id` and `thread_id` are the caller's own, at most 200 characters each. A run may have several episodes, say one of each agent
        in a hand-off; `run_episodes` and `settle` find them.
        """
        return lifecycle.begin(
            self._room,
            agent=agent,
            task=task,
            user_id=user_id,
            task_type=task_type,
            episode_id=episode_id,
            run_id=run_id,
            thread_id=thread_id,
            top_k=top_k,
            memories=memories,
            deferred=deferred,
        )

    def resume_episode(self, episode_id: str, *, memories: MemorySlice | None = None) -> Episode:
        """Resumes an episode that was suspended. `memories` is the slice it began with, if the caller kept it (`MemorySlice.to_json`).

        Citations are found without it too. `ConflictError` if the episode has ended, or if a running process holds it.
        """
        return lifecycle.resume(self._room, episode_id=episode_id, memories=memories)

    @overload
    def settle(
        self,
        episode_id: str,
        outcome: str | bool | Verdict,
        reason: str | None = None,
        *,
        run_id: None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord: ...

    @overload
    def settle(
        self,
        *,
        outcome: str | bool | Verdict,
        run_id: str,
        reason: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> list[EpisodeRecord]: ...

    def settle(
        self,
        episode_id: str | None = None,
        outcome: str | bool | Verdict | None = None,
        reason: str | None = None,
        *,
        run_id: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord | list[EpisodeRecord]:
        """Sets or corrects the verdict of an episode that has ended, in its record and in its memory, in one transaction.

        With a `run_id` instead of an `episode_id`, it sets that of every episode that ended in the run, all in that one transaction or
        none, and returns all of them, in the order in which they began. Open and abandoned ones are left alone.

        `source` says who judges and becomes the memory's `verdict_source`; without one, that stays as it is. The same verdict of the same
        source again changes nothing. `MemoryNotFoundError` for an unknown episode or run. `ConflictError` for an episode that is still
        open, a run in which none has ended, and where a trusted source would replace an untrusted one, or the reverse: their evidence is
        kept apart.
        """
        return settling.settle(self._room, episode_id=episode_id, run_id=run_id, outcome=outcome, reason=reason, source=source)

    @by_place("task")
    def strategies(
        self,
        task: str | None = None,
        agent: str | None = None,
        *,
        task_type: str | None = None,
        user_id: str | None = None,
        among: Sequence[str] | None = None,
        explore: bool = False,
        seed: int | None = None,
        include_steps: bool = False,
        limit: int = 20,
    ) -> StrategyTable:
        """Returns the record of the strategies tried for tasks like this one, of a type, or at all: the highest `expected` rate of
        success first.

        `among` names the strategies to compare, tried or not. `explore` orders by the upper bound of the rate instead. Ties are broken at
        random by `seed`, else always alike. Attempts of agents that share with this one count half; rows that rest only on these have
        `shared_from`. `include_steps` adds what single steps of episodes tried. The 4,096 cells of task and strategy of each agent that
        were used last are considered, and 128 strategies.
        """
        return tried.strategies(
            self._room,
            task=task,
            agent=agent,
            task_type=task_type,
            user_id=user_id,
            include_steps=include_steps,
            limit=limit,
            among=among,
            explore=explore,
            seed=seed,
        )

    def outcomes_behind(self, memory_id: str, limit: int = 20) -> list[Outcome]:
        """Returns the outcomes that a heuristic or an anti-pattern was learned from, newest first, forgotten ones too; none if it was
        stated.

        `MemoryNotFoundError` if there is no such memory.
        """
        return supporting_outcomes.outcomes_behind(self._room, memory_id=memory_id, limit=limit)

    @by_place("action")
    def check(
        self, agent: str, action: str, task: str | None = None, *, task_type: str | None = None, user_id: str | None = None
    ) -> ActionCheck:
        """Returns the anti-patterns, learned or stated, that an intended action matches. Takes milliseconds, writes nothing, forbids
        nothing.

        An action is a call, a command or a sentence: arguments that a pattern does not name do not matter. With a `task` or a
        `task_type`, a learned pattern warns only where it was learned from like tasks; a stated one always does.
        """
        return check.check(self._room, agent=agent, action=action, task=task, task_type=task_type, user_id=user_id)

    @by_place("context")
    def assess(
        self,
        strategy: str | None = None,
        context: str = "",
        agent: str = "",
        *,
        task_type: str | None = None,
        user_id: str | None = None,
    ) -> Assessment:
        """Returns how likely a strategy is to succeed in a context, from the record of like tasks and of those of the same `task_type`;
        without a strategy, how likely the task is to succeed whatever is tried. Where nothing is known the verdict is "unknown"."""
        return assess.assess(self._room, strategy=strategy, context=context, agent=agent, task_type=task_type, user_id=user_id)

    def get_episode(self, episode_id: str) -> EpisodeRecord:
        """Returns the record of an episode: memories shown, steps, ending. `MemoryNotFoundError` if there is none of that id.

        One that ended unjudged has a `forecast` made from its steps, if at least five of the agent's episodes were judged.
        """
        return forecasts.with_forecast(self._room, records.get(self._room, episode_id))

    def recent_episodes(self, limit: int = 20) -> list[EpisodeRecord]:
        """Returns the episodes that began last, newest first. Those that ended unjudged have a `forecast`, as by `get_episode`."""
        return forecasts.with_forecasts(self._room, records.recent(self._room, limit=limit))

    def run_episodes(self, run_id: str) -> list[EpisodeRecord]:
        """Returns the episodes that were begun with a `run_id`, in the order in which they began; none if there is no such run.

        Those that ended unjudged have a `forecast`, as by `get_episode`.
        """
        return forecasts.with_forecasts(self._room, records.of_run(self._room, args.checked_label(run_id, "run_id")))

    def review(self, agent: str | None = None, limit: int = 20) -> ReviewReport:
        """Returns what a person should judge first: unjudged episodes, least foreseeable first, and those whose verdict differs from the
        forecast.

        Of one agent, or of all. Verdicts are given by `settle(…, source="person")`; an episode that a person judged is not listed as
        surprising again. The newest 500 endings are considered; a forecast rests on the newest 100 judged episodes of the agent. Writes
        nothing.
        """
        return review.review(self._room, agent=agent, limit=limit)

    def get(self, memory_id: str, *, agent: str | None = None, user_id: str | None = None) -> AnyMemory:
        """Returns a memory by its id; with `agent`, only one that this agent can see. `MemoryNotFoundError` otherwise."""
        return usage.get(self._room, memory_id, agent=agent, user_id=user_id)

    def provenance(self, memory_id: str, *, agent: str | None = None, user_id: str | None = None) -> MemoryProvenance:
        """Returns where a memory comes from: who recorded and who judged it, the session, the tool, the document, the outcomes behind a rule.

        With `agent`, only of one that this agent can see. `MemoryNotFoundError` otherwise. Its `lines()` say it in words.
        """
        return provenance.provenance(self._room, usage.get(self._room, memory_id, agent=agent, user_id=user_id))

    # Names that alma-memory has for these; docs/migrating.md maps the others.
    add_preference = add_user_preference
    add_knowledge = add_domain_knowledge
    stats = Admin.get_stats


def checked_alma(alma: object) -> ALMA:
    """Returns the argument of an integration if it is an ALMA. `ConfigurationError` if not, `StorageError` if it was closed."""
    if not isinstance(alma, ALMA):
        raise ConfigurationError(f"alma must be an open ALMA, not {type(alma).__name__}; asyncio is served by the same one")
    alma._store.check_open()
    return alma


def redacted(alma: ALMA, text: str) -> str:
    """Returns a text as the store of a project would keep it: to be asked for before a text is cut, for half a secret is not found."""
    return alma._store.redaction.text(text)


def open_records(alma: ALMA, kind: str) -> Records:
    """Returns the small records of one kind in a project, for packages that stand on ALMA. `kind` is two words, as `workflow.checkpoint`."""
    return Records(checked_alma(alma)._room, checked_kind(kind))


def place_of(alma: ALMA) -> str:
    """Returns the location of a project's store: all projects in one store have the same location."""
    return str(alma._store.folder)
