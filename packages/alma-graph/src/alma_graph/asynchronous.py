"""`AsyncGraph`: the methods of `Graph` as coroutines."""

import functools
from collections.abc import Callable
from typing import Any

from alma.aio.workers import Workers
from alma_graph.graph import Graph


class AsyncGraph:
    """`alma.graph` of an `AsyncALMA`: every method of `Graph` under the same name, as a coroutine that a worker thread runs."""

    def __init__(self, graph: Graph, workers: Workers) -> None:
        self._graph, self._workers = graph, workers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(type(self._graph), name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(f"AsyncGraph has no attribute {name!r}")

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._workers.run(method, self._graph, *args, **kwargs)

        return call

    def __repr__(self) -> str:
        return f"<Async{repr(self._graph)[1:]}"
