"""`AsyncALMA`: the façade for asyncio, a line a method."""

import functools
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from alma.aio.episode import AsyncEpisode
from alma.aio.workers import Opening, Workers
from alma.episode import Episode
from alma.memory.alma import ALMA
from alma.types.scope import MemoryScope

P = ParamSpec("P")
R = TypeVar("R")


def _mirrored(method: Callable[Concatenate[ALMA, P], R]) -> Callable[Concatenate["AsyncALMA", P], Coroutine[Any, Any, R]]:
    """The method as a coroutine, of the same signature and documentation."""

    @functools.wraps(method)
    async def call(self: "AsyncALMA", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._workers.run(method, self._alma, *args, **kwargs)

    return call


def _opening(method: Callable[P, ALMA]) -> Callable[P, Opening["AsyncALMA"]]:
    """A way to open ALMA, as something to await or to enter."""

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
    """A way to begin an episode, as something to await or to enter."""

    @functools.wraps(method)
    def call(self: "AsyncALMA", /, *args: P.args, **kwargs: P.kwargs) -> Opening[AsyncEpisode]:
        async def start() -> AsyncEpisode:
            begun = await self._workers.open(lambda: method(self._alma, *args, **kwargs), Episode.abandon)
            return AsyncEpisode(begun, self._workers)

        return Opening(start)

    return call


class AsyncALMA:
    """A project's memory for asyncio: every method of `ALMA` under the same name, as a coroutine.

    `alma = await AsyncALMA.open(…)` or `async with AsyncALMA.open(…) as alma`. The calls are made by a few threads of its own. A cancelled `await`
    leaves a write whole or absent; `close` waits for the calls that are running.
    """

    def __init__(self, alma: ALMA, workers: Workers | None = None) -> None:
        self._alma = alma
        self._workers = workers or Workers()

    open = staticmethod(_opening(ALMA.open))
    from_config = staticmethod(_opening(ALMA.from_config))

    episode = _beginning(ALMA.episode)
    resume_episode = _beginning(ALMA.resume_episode)

    async def for_project(self, project_id: str) -> Self:
        """The memory of another project in the same store, over the same threads. Closing either closes both."""
        return type(self)(await self._workers.run(self._alma.for_project, project_id), self._workers)

    async def close(self) -> None:
        """Waits for the calls that are running and closes the store. Closing twice is harmless; any other call afterwards is a `StorageError`."""
        await self._workers.finish(self._alma.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._alma)[1:]}"

    @property
    def project_id(self) -> str:
        """The project whose memory this is."""
        return self._alma.project_id

    @property
    def agents(self) -> Mapping[str, MemoryScope]:
        """The rules of the agents that have any."""
        return self._alma.agents

    # Each of these is the method of ALMA of that name, awaited. A test holds the two classes together.
    before_close = _mirrored(ALMA.before_close)
    retrieve = _mirrored(ALMA.retrieve)
    explain_retrieval = _mirrored(ALMA.explain_retrieval)
    learn = _mirrored(ALMA.learn)
    learn_many = _mirrored(ALMA.learn_many)
    add_user_preference = _mirrored(ALMA.add_user_preference)
    add_domain_knowledge = _mirrored(ALMA.add_domain_knowledge)
    add_anti_pattern = _mirrored(ALMA.add_anti_pattern)
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
    review = _mirrored(ALMA.review)
    get = _mirrored(ALMA.get)
    history = _mirrored(ALMA.history)
    undo = _mirrored(ALMA.undo)
    undo_preview = _mirrored(ALMA.undo_preview)
    content_hash = _mirrored(ALMA.content_hash)
    forget = _mirrored(ALMA.forget)
    purge = _mirrored(ALMA.purge)
    maintain = _mirrored(ALMA.maintain)
    compact = _mirrored(ALMA.compact)
    backup = _mirrored(ALMA.backup)
    reindex = _mirrored(ALMA.reindex)
    get_stats = _mirrored(ALMA.get_stats)
    overview = _mirrored(ALMA.overview)
    verify = _mirrored(ALMA.verify)
    list_memories = _mirrored(ALMA.list_memories)
    export = _mirrored(ALMA.export)
    import_from = _mirrored(ALMA.import_from)
