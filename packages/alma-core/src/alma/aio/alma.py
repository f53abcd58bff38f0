"""ALMA for asyncio: one generic proxy. Each public method runs in a worker thread and is awaited.

Editors and type checkers read `alma.pyi` beside this file, which `tests/support/async_stub.py` writes.
"""

import functools
import inspect
import logging

from alma.aio.workers import Opening, Workers
from alma.episode import Episode
from alma.errors import AlmaError
from alma.extensions import LateMethod, extension
from alma.memory.administration import Admin
from alma.memory.alma import ALMA

_GRAPH = ("alma_graph.asynchronous", "graph", "the graph is")
_LOG = logging.getLogger("alma")


def _awaited(method):
    """Returns the method as a coroutine function that a worker thread runs, with the same signature and documentation."""

    @functools.wraps(method)
    async def call(self, /, *args, **kwargs):
        return await self._workers.run(method, self._proxied, *args, **kwargs)

    return call


def _read(name, read):
    return property(lambda self: getattr(self._proxied, name), doc=read.__doc__)


def _proxy(source):
    """Class decorator: adds every public method and property of a class, unless the proxy has its own."""

    def fill(cls):
        for name in dir(source):
            if name.startswith("_") or name in vars(cls):
                continue
            member = inspect.getattr_static(source, name)
            if isinstance(member, LateMethod):
                proxied = LateMethod(lambda name: _awaited(getattr(source, name)))
                proxied.__set_name__(cls, name)
            else:
                proxied = _read(name, member) if isinstance(member, property) else _awaited(member)
            setattr(cls, name, proxied)
        return cls

    return fill


def _opened(method, proxy, release):
    """Returns the method so that its result can be awaited or entered: a proxy of what the method opens, which a cancelled call releases."""

    @functools.wraps(method)
    def call(self, /, *args, **kwargs):
        async def start():
            begin = functools.partial(method, self._proxied, *args, **kwargs)
            return proxy(await self._workers.open(begin, release), self._workers)

        return Opening(start)

    return call


def _opening(method):
    """Returns the function that opens an ALMA so that its result can be awaited or entered."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        async def start():
            workers = Workers()
            try:
                return AsyncALMA(await workers.open(lambda: method(*args, **kwargs), ALMA.close), workers)
            except BaseException:
                workers.dismiss()
                raise

        return Opening(start)

    return call


def _unawaited(name):
    """Loads a method of a package that does no work itself."""
    method = getattr(ALMA, name)
    return functools.wraps(method)(lambda self, /, *args, **kwargs: method(self._proxied, *args, **kwargs))


class _Proxy:
    def __init__(self, proxied, workers=None):
        self._proxied = proxied
        self._workers = workers or Workers()

    def __repr__(self):
        return f"<Async{repr(self._proxied)[1:]}"


@_proxy(Episode)
class AsyncEpisode(_Proxy):
    """An `Episode` for asyncio, with the same names; methods that write are awaited. Leaving the block has the same meaning.

    A cancelled `await` leaves a step or an ending whole or absent.
    """

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        if not self.is_open:
            return
        try:
            await self._workers.run_surely(self._proxied.__exit__, kind, error, trace)
        except AlmaError as problem:
            if error is None:
                raise
            _LOG.warning("the end of episode %s was not recorded: %s", self.id, problem)


@_proxy(Admin)
class AsyncAdmin(_Proxy):
    """Housekeeping for asyncio, returned by `AsyncALMA.admin`: every method of `alma.admin`, as a coroutine."""


@_proxy(ALMA)
class AsyncALMA(AsyncAdmin):
    """A project's memory for asyncio: every method of `ALMA` under the same name, as a coroutine.

    `alma = await AsyncALMA.open(…)` or `async with AsyncALMA.open(…) as alma`. The calls run in a few threads of its own. A cancelled
    `await` leaves a write whole or absent; `close` waits for the calls that are running.
    """

    open, from_config, quickstart = map(staticmethod, map(_opening, (ALMA.open, ALMA.from_config, ALMA.quickstart)))
    episode = _opened(ALMA.episode, AsyncEpisode, Episode.abandon)
    resume_episode = _opened(ALMA.resume_episode, AsyncEpisode, Episode.abandon)
    events = LateMethod(_unawaited)
    remembers = LateMethod(_unawaited)
    graph = property(lambda self: extension(*_GRAPH).AsyncGraph(self._proxied.graph, self._workers), doc=ALMA.graph.__doc__)
    admin = property(lambda self: AsyncAdmin(self._proxied, self._workers), doc=ALMA.admin.__doc__)

    @functools.wraps(ALMA.for_project)
    async def for_project(self, project_id):
        return type(self)(await self._workers.run(self._proxied.for_project, project_id), self._workers)

    @functools.wraps(ALMA.close)
    async def close(self):
        await self._workers.finish(self._proxied.close)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        await self.close()
