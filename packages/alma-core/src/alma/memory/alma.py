"""`ALMA`, the one object that users hold: one line per method, each use case in a file of its own."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from alma.calls import checked
from alma.config import EncryptionKey, load_settings
from alma.errors import ConfigurationError
from alma.memory import arguments as args
from alma.memory import opening
from alma.memory.administration import Admin
from alma.memory.arguments import Redact
from alma.memory.episodes import usage
from alma.memory.learn.learn import LearnRequest
from alma.memory.learn.learn import learn as learn_one
from alma.memory.learn.learn import learn_many as learn_each
from alma.memory.operation import forwarded, operation
from alma.memory.package_records import Records, checked_kind
from alma.memory.recall import advice, check, explain, explanations, retrieve
from alma.memory.recall.query import ARMS, RetrieveRequest
from alma.memory.recording import Recording
from alma.memory.room import Room, find_room
from alma.protocols import Clock, Embedder, Store
from alma.storage.factories import SQLITE
from alma.types.identity import MemoryScope, UserWall, utc_now
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import AnyMemory, Outcome
from alma.types.provenance import MemoryProvenance
from alma.types.recalled import RetrievalExplanation
from alma.types.slice import MemorySlice
from alma.types.timeline import TemporalFilter


class ALMA(Recording):
    """A project's memory: retrieve before a task, learn after it.

    Open one with `ALMA.open` or `ALMA.from_config`. Threads may share it, and processes may share its folder. Every method that takes an
    `agent` acts in that agent's scope. Errors are those of `alma.errors`; a call that raises has stored nothing, a call that returned has
    stored its work durably.
    """

    @classmethod
    @checked
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
        create: bool = True,
    ) -> Self:
        """Opens the memory in a folder, and creates it if necessary; no configuration file needed.

        `embedding_provider` is a name or an `Embedder`; `auto` takes the one that the database was made with, and for a new one the best
        that is installed. `agents` has the rules of agents; `forgetting` and `maintenance` are as in a configuration file. `lock_timeout`
        is how many seconds, 0 to 3600, a call waits while another process writes, 30 by default; see `alma.lock_timeout`.
        `redact` says what is replaced in each text before it is stored: secrets ("on"), personal data too ("personal"), nothing ("off"), or
        what a function of yours replaces; see `docs/guides/security.md`. `users` says what crosses between users, of what agents recorded for
        them: counts and strategies without their words ("separate"), nothing ("isolated"), everything ("shared"); see `docs/guides/users.md`.
        `encryption_key` encrypts a new store and opens an encrypted one: 32 bytes, the path of a key file, or a function that returns a key.
        `storage` is the kind of store, or a URL such as `postgres://host/database`,
        with the settings of its block in a configuration; the folder then holds caches alone. See `docs/guides/backends.md`.
        Without `create`, `StorageError` if the memory is not made yet or was deleted, and nothing is made.
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
            create=create,
        )
        return cls(opening.first_room(store, name))

    @classmethod
    @checked
    def from_config(cls, path: str | Path = ".alma/config.yaml", *, clock: Clock = utc_now, create: bool = True) -> Self:
        """Opens the memory that a configuration file describes. `ConfigurationError` names the file and the key that is wrong.

        Without `create`, `StorageError` if the memory is not made yet or was deleted, and nothing is made.
        """
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
            blocks={"compression": settings.compression, "graph": settings.graph, "llm": settings.llm},
            create=create,
        )
        return cls(opening.first_room(store, settings.project_id))

    @classmethod
    def quickstart(
        cls, project_id: str = "my-project", storage_dir: str | Path = ".alma", agent: str | None = None, **options: Any
    ) -> Self:
        """Calls `ALMA.open(storage_dir, project_id=project_id, **options)`. `agent` is ignored, as it is by alma-memory, which has this name."""
        return cls.open(storage_dir, project_id=project_id, **options)

    @operation
    def for_project(self, project_id: str) -> Self:
        """Returns the memory of another project in the same store. Closing either closes both."""
        return type(self)(self._store.room(args.checked_name(project_id, "project_id")))

    @operation
    def close(self) -> None:
        """Closes the store, for all its projects. Closing twice is harmless; any other call afterwards is a `StorageError`."""
        self._store.close()

    @operation
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

    @operation
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

        With the package alma-knowledge, facts of one agent and preferences of the user that contradict each other are listed in `contradictions`;
        the better-sourced, then newer one comes first, and `verified=True` leaves the other out. Without it, the newest fact of a domain comes
        first, and nothing is left out.

        `since` and `until` limit when what is remembered happened or was last confirmed, or `temporal_filter` does. `as_of` asks from a past
        moment: what was recorded later is left out. Naive times are taken as UTC.
        """
        request = RetrieveRequest(
            task=query if task is None else task,
            agent=agent,
            top_k=top_k,
            user_id=user_id,
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
        return retrieve.retrieve(self._room, request, explain=explain)

    @operation
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
        request = RetrieveRequest(
            task=query,
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
        return explain.explain_retrieval(self._room, request, memory_id=memory_id)

    @operation
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
        return learn_one(self._room, request)

    learn_many = forwarded(learn_each)
    strategies = forwarded(advice.strategies)
    outcomes_behind = forwarded(explanations.outcomes_behind)
    check = forwarded(check.check)
    assess = forwarded(advice.assess)

    @operation
    def get(self, memory_id: str, *, agent: str | None = None, user_id: str | None = None) -> AnyMemory:
        """Returns a memory by its id; with `agent`, only one that this agent can see. `MemoryNotFoundError` otherwise."""
        return usage.get(self._room, memory_id, agent=agent, user_id=user_id)

    @operation
    def provenance(self, memory_id: str, *, agent: str | None = None, user_id: str | None = None) -> MemoryProvenance:
        """Returns where a memory comes from: who recorded and who judged it, the session, the tool, the document, the outcomes behind a rule.

        With `agent`, only of one that this agent can see. `MemoryNotFoundError` otherwise. Its `lines()` say it in words.
        """
        return explanations.provenance(self._room, usage.get(self._room, memory_id, agent=agent, user_id=user_id))

    stats = Admin.get_stats  # the name that alma-memory has for it


def checked_alma(alma: object) -> ALMA:
    """Returns the argument of an integration if it is an ALMA. `ConfigurationError` if not, `StorageError` if it was closed."""
    if not isinstance(alma, ALMA):
        raise ConfigurationError(f"alma must be an open ALMA, not {type(alma).__name__}; asyncio is served by the same one")
    alma._store.check_open()
    return alma


def opened_room(alma: ALMA) -> Room:
    """Returns the open project behind a memory, for packages that merge what it holds."""
    return checked_alma(alma)._room


def alma_of(storage: object) -> ALMA:
    """Returns a memory that is open on a store, of one of its projects. `ConfigurationError` if none is."""
    room = find_room(storage)
    if room is None:
        raise ConfigurationError(f"storage must be an open ALMA or its storage, not {type(storage).__name__}")
    return ALMA(room)


def redacted(alma: ALMA, text: str) -> str:
    """Returns a text as the store of a project would keep it: to be asked for before a text is cut, for half a secret is not found."""
    return alma._store.redaction.text(text)


def open_records(alma: ALMA, kind: str) -> Records:
    """Returns the small records of one kind in a project, for packages that stand on ALMA. `kind` is two words, as `workflow.checkpoint`."""
    return Records(checked_alma(alma)._room, checked_kind(kind))


def configured_block(alma: ALMA, name: str) -> tuple[Mapping[str, object] | None, Path]:
    """Returns a block of a package in the configuration that a memory was opened with, and the folder of the store."""
    store = checked_alma(alma)._room.latest.store
    return store.blocks.get(name), store.folder


def release_project(alma: ALMA) -> None:
    """Frees the memory that a project's caches take, for servers of many projects. The next call on the project loads them again."""
    room = alma._store.projects.pop(alma.project_id, None)
    if room is not None:
        room.index.save()


def place_of(alma: ALMA) -> str:
    """Returns the location of a project's store: all projects in one store have the same location."""
    return str(alma._store.folder)
