"""The one wrapper of public methods: checks flags, reports to watchers and to the log, numbers the call, names damage."""

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from alma.calls import HERE, NUMBERS, check_flags, flags_of
from alma.errors import AlmaError, CorruptStoreError
from alma.types.episodes import EpisodeRecord
from alma.types.memories import Memory
from alma.types.slice import MemorySlice

_LOG = logging.getLogger("alma")

M = TypeVar("M", bound=Callable[..., Any])
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

_QUERIES = ("task", "query", "context", "action")
"""Arguments that say what is searched for."""

SEARCH, CREATE, UPDATE, UPSERT, DELETE = "search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"
"""Names of operations in the GenAI conventions of OpenTelemetry."""

OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("retrieve", "strategies", "check", "assess"), SEARCH),
    **dict.fromkeys(("learn", "learn_many"), UPSERT),
    **dict.fromkeys(("settle", "record_feedback", "edit"), UPDATE),
    **dict.fromkeys(("add", "add_many", "add_user_preference", "add_domain_knowledge"), CREATE),
    **dict.fromkeys(("add_anti_pattern", "add_heuristic", "add_conversation"), CREATE),
    **dict.fromkeys(("forget", "purge", "forget_user"), DELETE),
}
"""The operation of each method that is reported. `upsert_memory`: the caller does not choose whether a memory is new."""

STEP_METHOD = "episode.step"
"""The method of an operation that stored the lesson of one step. Its result is that memory."""


@dataclass(slots=True)
class Operation:
    """One call. `result` is set when it returned; `query` is what was searched for, which is content."""

    name: str
    method: str
    project_id: str
    agent: str | None = None
    query: str | None = None
    result: Any = None


Watcher: TypeAlias = Callable[[Operation], AbstractContextManager[Any]]
"""Its context is entered before the call and left after it, by the call's error if there was one. Threads share it; it must not raise."""


@contextmanager
def reported(watchers: Iterable[Watcher], operation: Operation) -> Iterator[Operation]:
    """Reports the block to the watchers, and in one line at level DEBUG, without any text. The block sets the result."""
    start = perf_counter()
    with ExitStack() as stack:
        for watcher in watchers:
            stack.enter_context(watcher(operation))
        yield operation
    if _LOG.isEnabledFor(logging.DEBUG):
        ids, spent = ids_of(operation.result) or [], 1000 * (perf_counter() - start)
        said = (operation.method, operation.project_id, len(ids), spent, " ".join(ids))
        _LOG.debug("%s in project %r: %d memories in %.1f ms %s", *said)


def ids_of(result: Any) -> list[str] | None:
    """Returns the ids of the memories that an operation returned or wrote; `None` where it does not say."""
    if isinstance(result, MemorySlice):
        return [item.memory.id for item in result.recalled]
    if isinstance(result, Memory):
        return [result.id]
    if isinstance(result, list | tuple):
        return [
            each if isinstance(each, str) else str(each.id) for each in result if isinstance(each, str | Memory | EpisodeRecord)
        ]
    memory_ids = getattr(result, "memory_ids", None)
    return [str(each) for each in memory_ids] if isinstance(memory_ids, list | tuple) else None


def operation(method: M) -> M:
    """Wraps a public method. Signature and documentation stay.

    A flag that is neither `True` nor `False` is a `ValidationError`. A method of `OPERATIONS` is reported where the store has watchers or the
    log takes DEBUG. An unexpected error is a `CorruptStoreError` if the store is damaged.
    """
    return _wrap(method, inspect.signature(method), is_forwarded=False)  # type: ignore[return-value] # it is called like the method


def forwarded(function: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Returns the public method that calls a function with the project of its object, wrapped as by `operation`.

    Documentation and signature are those of the function.
    """
    signature = inspect.signature(function)
    room, *others = signature.parameters.values()
    itself = room.replace(name="self", annotation=inspect.Parameter.empty)
    return _wrap(function, signature.replace(parameters=[itself, *others]), is_forwarded=True)


def _wrap(function: Callable[..., Any], signature: inspect.Signature, *, is_forwarded: bool) -> Callable[..., Any]:
    flags, reports = flags_of(function), function.__name__ in OPERATIONS

    @wraps(function)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        around = HERE.calls
        HERE.calls = (*around, next(NUMBERS))
        try:
            room = self._room
            target = room if is_forwarded else self
            if reports and (room.store.watchers or _LOG.isEnabledFor(logging.DEBUG)):
                with reported(room.store.watchers, _describe(room, function.__name__, signature, args, kwargs)) as described:
                    check_flags(flags, (target, *args), kwargs)
                    described.result = function(target, *args, **kwargs)
                    return described.result
            if flags:
                check_flags(flags, (target, *args), kwargs)
            return function(target, *args, **kwargs)
        except AlmaError:
            raise
        except Exception as error:
            if _is_damaged(self):
                raise CorruptStoreError(f"the store is damaged ({type(error).__name__}: {error}); see `alma verify`") from error
            raise
        finally:
            HERE.calls = around

    call.__signature__ = signature  # type: ignore[attr-defined] # read by `inspect.signature` and `help`
    return call


def _describe(room: Any, name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> Operation:
    try:
        given = signature.bind(room, *args, **kwargs).arguments
    except TypeError:  # the call itself raises it
        given = {}
    given = {**given, **given.get("kwargs", {})}
    agent = given.get("agent")
    query = next((given[key] for key in _QUERIES if isinstance(given.get(key), str)), None)
    return Operation(OPERATIONS[name], name, room.name, agent if isinstance(agent, str) else None, query)


def _is_damaged(face: Any) -> bool:
    """Checks the store after an unexpected error: rows are read by the thousand, and not checked each time."""
    with suppress(Exception):  # the error of the call counts, not one of the check
        return not face._store.storage.verify().ok
    return False
