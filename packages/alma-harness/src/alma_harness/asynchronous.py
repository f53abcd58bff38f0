"""Sessions and work items for asyncio: the same methods, awaited, each in another thread."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from alma import ALMA, AsyncALMA
from alma_harness.projects import OfProject

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=OfProject)


def mirrored(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate["OfProjectAsync[Any]", P], Coroutine[Any, Any, R]]:
    """Returns the method as a coroutine function, with the same signature and documentation."""

    @functools.wraps(method)
    async def call(self: "OfProjectAsync[Any]", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(lambda: method(self.opened(), *args, **kwargs))

    return call


class OfProjectAsync(Generic[T]):
    """Base of the asynchronous forms. A bare name opens that project in `.alma` at the first call; close it then, or use `async with`."""

    _kind: type[T]

    def __init__(self, project: str | None = None, *, alma: ALMA | AsyncALMA | None = None) -> None:
        self._make = functools.partial(self._kind, project, alma=alma._proxied if isinstance(alma, AsyncALMA) else alma)
        self._lock = threading.Lock()
        self._opened: T | None = self._make() if project is None else None

    def opened(self) -> T:
        """Returns the synchronous form, opened now if necessary; that may block."""
        with self._lock:
            if self._opened is None:
                self._opened = self._make()
            return self._opened

    async def close(self) -> None:
        """Closes the store if this object opened it."""
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.opened)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
