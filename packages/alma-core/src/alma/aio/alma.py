"""`AsyncALMA`: the façade for asyncio, one line per method."""

import functools
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from alma.aio.episode import AsyncEpisode
from alma.aio.workers import Opening, Workers
from alma.episode import Episode
from alma.extensions import LateMethod
from alma.memory.alma import ALMA
from alma.memory.harness_methods import HARNESS_METHODS
from alma.protocols import Store
from alma.types.scope import MemoryScope

P = ParamSpec("P")
R = TypeVar("R")


def _mirrored(method: Callable[Concatenate[ALMA, P], R]) -> Callable[Concatenate["AsyncAdmin", P], Coroutine[Any, Any, R]]:
    """Returns the method as a coroutine function, with the same signature and documentation."""

    @functools.wraps(method)
    async def call(self: "AsyncAdmin", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._workers.run(method, self._alma, *args, **kwargs)

    return call


def _opening(method: Callable[P, ALMA]) -> Callable[P, Opening["AsyncALMA"]]:
    """Wraps a function that opens ALMA, so that its result can be awaited or entered."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> Opening["AsyncALMA"]:
        async def start() -> AsyncALMA:
            workers = Workers()
            try:
                return AsyncALMA(await workers.open(lambda: method(*args, **kwargs), ALMA.close), workers)
            except BaseException:
                workers.dismiss()
                raise

        return Opening(start)

    return call


def _beginning(
    method: Callable[Concatenate[ALMA, P], Episode],
) -> Callable[Concatenate["AsyncALMA", P], Opening[AsyncEpisode]]:
    """Wraps a method that begins an episode, so that its result can be awaited or entered."""

    @functools.wraps(method)
    def call(self: "AsyncALMA", /, *args: P.args, **kwargs: P.kwargs) -> Opening[AsyncEpisode]:
        async def start() -> AsyncEpisode:
            begun = await self._workers.open(lambda: method(self._alma, *args, **kwargs), Episode.abandon)
            return AsyncEpisode(begun, self._workers)

        return Opening(start)

    return call


class AsyncAdmin:
    """Housekeeping for asyncio, returned by `AsyncALMA.admin`: every method of `alma.admin`, as a coroutine."""

    def __init__(self, alma: ALMA, workers: Workers | None = None) -> None:
        self._alma = alma
        self._workers = workers or Workers()

    # Each of these is the method of ALMA of that name, awaited. A test checks that the classes match.
    history = _mirrored(ALMA.history)
    compares_meanings = _mirrored(ALMA.compares_meanings)
    undo = _mirrored(ALMA.undo)
    undo_preview = _mirrored(ALMA.undo_preview)
    content_hash = _mirrored(ALMA.content_hash)
    forget = _mirrored(ALMA.forget)
    purge = _mirrored(ALMA.purge)
    forget_user = _mirrored(ALMA.forget_user)
    users = _mirrored(ALMA.users)
    redact_existing = _mirrored(ALMA.redact_existing)
    maintain = _mirrored(ALMA.maintain)
    compact = _mirrored(ALMA.compact)
    backup = _mirrored(ALMA.backup)
    migrate = _mirrored(ALMA.migrate)
    reindex = _mirrored(ALMA.reindex)
    get_stats = _mirrored(ALMA.get_stats)
    overview = _mirrored(ALMA.overview)
    verify = _mirrored(ALMA.verify)
    list_memories = _mirrored(ALMA.list_memories)
    quarantined = _mirrored(ALMA.quarantined)
    release_quarantined = _mirrored(ALMA.release_quarantined)
    export = _mirrored(ALMA.export)
    import_from = _mirrored(ALMA.import_from)
    import_untrusted = _mirrored(ALMA.import_untrusted)
    import_alma_memory = _mirrored(ALMA.import_alma_memory)


def _load(name: str) -> Callable[..., Any]:
    """Returns the mirror of a method that `alma-harness` provides. The decorator of functions is the same one."""
    method = getattr(ALMA, name)
    if name != "remembers":
        return _mirrored(method)

    @functools.wraps(method)
    def call(self: "AsyncALMA", /, *args: Any, **kwargs: Any) -> Any:
        return method(self._alma, *args, **kwargs)

    return call


if TYPE_CHECKING:

    class AsyncHarnessMethods(AsyncAdmin):
        """Methods that `alma-harness` provides, awaited."""

        checkpoint = _mirrored(ALMA.checkpoint)
        cleanup_checkpoints = _mirrored(ALMA.cleanup_checkpoints)
        get_artifacts = _mirrored(ALMA.get_artifacts)
        get_proactive_suggestions = _mirrored(ALMA.get_proactive_suggestions)
        learn_from_spans = _mirrored(ALMA.learn_from_spans)
        learn_from_workflow = _mirrored(ALMA.learn_from_workflow)
        link_artifact = _mirrored(ALMA.link_artifact)
        merge_states = _mirrored(ALMA.merge_states)
        resume = _mirrored(ALMA.resume)
        retrieve_scoped = _mirrored(ALMA.retrieve_scoped)
        wakeup = _mirrored(ALMA.wakeup)

        def remembers(self, /, *args: Any, **kwargs: Any) -> Any: ...
else:
    AsyncHarnessMethods = type("AsyncHarnessMethods", (AsyncAdmin,), {name: LateMethod(_load) for name in HARNESS_METHODS})


class AsyncALMA(AsyncHarnessMethods):
    """A project's memory for asyncio: every method of `ALMA` under the same name, as a coroutine.

    `alma = await AsyncALMA.open(…)` or `async with AsyncALMA.open(…) as alma`. The calls run in a few threads of its own. A cancelled
    `await` leaves a write whole or absent; `close` waits for the calls that are running.
    """

    open = staticmethod(_opening(ALMA.open))
    from_config = staticmethod(_opening(ALMA.from_config))
    quickstart = staticmethod(_opening(ALMA.quickstart))

    episode = _beginning(ALMA.episode)
    resume_episode = _beginning(ALMA.resume_episode)

    async def for_project(self, project_id: str) -> Self:
        """Returns the memory of another project in the same store, with the same threads. Closing either closes both."""
        return type(self)(await self._workers.run(self._alma.for_project, project_id), self._workers)

    async def close(self) -> None:
        """Waits for the calls that are running and closes the store. Closing twice is harmless; any other call afterwards is a
        `StorageError`."""
        await self._workers.finish(self._alma.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._alma)[1:]}"

    @property
    def project_id(self) -> str:
        """Id of the project."""
        return self._alma.project_id

    @property
    def agents(self) -> Mapping[str, MemoryScope]:
        """Rules of the configured agents."""
        return self._alma.agents

    @property
    def admin(self) -> AsyncAdmin:
        """History, forgetting, export, backup, verification. This class has the same methods, too."""
        return AsyncAdmin(self._alma, self._workers)

    @property
    def storage(self) -> Store:
        """The store behind this memory: `alma.protocols.Store`."""
        return self._alma.storage

    before_close = _mirrored(ALMA.before_close)
    retrieve = _mirrored(ALMA.retrieve)
    explain_retrieval = _mirrored(ALMA.explain_retrieval)
    learn = _mirrored(ALMA.learn)
    learn_many = _mirrored(ALMA.learn_many)
    add_user_preference = _mirrored(ALMA.add_user_preference)
    add_domain_knowledge = _mirrored(ALMA.add_domain_knowledge)
    add_anti_pattern = _mirrored(ALMA.add_anti_pattern)
    add_conversation = _mirrored(ALMA.add_conversation)
    add_heuristic = _mirrored(ALMA.add_heuristic)
    add = _mirrored(ALMA.add)
    add_many = _mirrored(ALMA.add_many)
    register_memory_type = _mirrored(ALMA.register_memory_type)
    memory_types = _mirrored(ALMA.memory_types)
    record_usage = _mirrored(ALMA.record_usage)
    record_feedback = _mirrored(ALMA.record_feedback)
    settle = _mirrored(ALMA.settle)
    strategies = _mirrored(ALMA.strategies)
    outcomes_behind = _mirrored(ALMA.outcomes_behind)
    check = _mirrored(ALMA.check)
    assess = _mirrored(ALMA.assess)
    get_episode = _mirrored(ALMA.get_episode)
    recent_episodes = _mirrored(ALMA.recent_episodes)
    run_episodes = _mirrored(ALMA.run_episodes)
    review = _mirrored(ALMA.review)
    get = _mirrored(ALMA.get)
    provenance = _mirrored(ALMA.provenance)
    add_preference = _mirrored(ALMA.add_preference)
    add_knowledge = _mirrored(ALMA.add_knowledge)
    stats = _mirrored(ALMA.stats)
