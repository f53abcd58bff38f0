"""`AsyncEpisode`: an episode whose calls are coroutines."""

import functools
import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from alma.aio.workers import Workers
from alma.episode import Episode
from alma.errors import AlmaError
from alma.types.episodes import EpisodeRecord, Step
from alma.types.slice import MemorySlice

_LOG = logging.getLogger("alma")

P = ParamSpec("P")
R = TypeVar("R")


def _mirrored(
    method: Callable[Concatenate[Episode, P], R],
) -> Callable[Concatenate["AsyncEpisode", P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: "AsyncEpisode", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._workers.run(method, self._episode, *args, **kwargs)

    return call


class AsyncEpisode:
    """An `Episode` for asyncio, with the same names; methods that write are awaited. Leaving the block has the same meaning.

    A cancelled `await` leaves a step or an ending whole or absent.
    """

    def __init__(self, episode: Episode, workers: Workers) -> None:
        self._episode = episode
        self._workers = workers

    step = _mirrored(Episode.step)
    succeed = _mirrored(Episode.succeed)
    fail = _mirrored(Episode.fail)
    partial = _mirrored(Episode.partial)
    end = _mirrored(Episode.end)
    abandon = _mirrored(Episode.abandon)
    suspend = _mirrored(Episode.suspend)
    observe = _mirrored(Episode.observe)
    used = _mirrored(Episode.used)

    @property
    def id(self) -> str:
        """Id of the episode, as `settle`, `get_episode` and `resume_episode` take it."""
        return self._episode.id

    @property
    def record(self) -> EpisodeRecord:
        """Record of the episode as stored so far."""
        return self._episode.record

    @property
    def memories(self) -> MemorySlice:
        """Memories that were retrieved for the task when it began."""
        return self._episode.memories

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps so far."""
        return self._episode.steps

    @property
    def is_written(self) -> bool:
        """True when any of it is stored. One that was begun `deferred` is stored with its first step, its ending or its suspension."""
        return self._episode.is_written

    @property
    def is_open(self) -> bool:
        """True while steps and a verdict are accepted. An episode whose ending was undone is open again."""
        return self._episode.is_open

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._episode.is_open:
            return
        try:
            await self._workers.run_surely(self._episode.__exit__, kind, error, trace)
        except AlmaError as problem:
            if error is None:
                raise
            _LOG.warning("the end of episode %s was not recorded: %s", self.id, problem)

    def __repr__(self) -> str:
        return f"<Async{repr(self._episode)[1:]}"
