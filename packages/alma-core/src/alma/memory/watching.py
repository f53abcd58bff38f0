"""Reports the calls that read and write memory to watchers: traces, metrics, logs. Without a watcher a call costs one look at the store."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, TypeAlias, TypeVar

SEARCH, CREATE, UPDATE, UPSERT, DELETE = "search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"
"""Names of operations in the GenAI conventions of OpenTelemetry."""

OPERATIONS = {
    **dict.fromkeys(("retrieve", "strategies", "check", "assess"), SEARCH),
    **dict.fromkeys(("learn", "learn_many"), UPSERT),
    **dict.fromkeys(("settle", "record_feedback"), UPDATE),
    **dict.fromkeys(
        (
            "add",
            "add_many",
            "add_user_preference",
            "add_domain_knowledge",
            "add_anti_pattern",
            "add_heuristic",
            "add_conversation",
        ),
        CREATE,
    ),
    **dict.fromkeys(("forget", "purge", "forget_user"), DELETE),
}
"""The operation of each method that is reported. `upsert_memory`: the caller does not choose whether a memory is new."""

STEP_METHOD = "episode.step"
"""The method of an operation that stored the lesson of one step. Its result is that memory."""

_QUERIES = ("task", "query", "context", "action")
_MARK = "reports_operations"
"""Attribute of a method that is reported already, by the class that it is inherited from."""

C = TypeVar("C")


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


class Watched(Protocol):
    """The store of what is watched."""

    watchers: tuple[Watcher, ...]


@contextmanager
def reported(store: Watched, operation: Operation) -> Iterator[Operation]:
    """Reports the block to the watchers. The block sets the result."""
    with ExitStack() as stack:
        for watcher in store.watchers:
            stack.enter_context(watcher(operation))
        yield operation


def reports_operations(cls: type[C]) -> type[C]:
    """Class decorator: the methods of `OPERATIONS` are reported, inherited ones too. Signatures and documentation stay."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if inspect.isfunction(member) and member.__name__ in OPERATIONS and not hasattr(member, _MARK):
            setattr(cls, name, _reporting(member))
    return cls


def _reporting(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        store = self._store
        if not store.watchers:
            return method(self, *args, **kwargs)
        with reported(store, _operation(self, method.__name__, signature, args, kwargs)) as operation:
            operation.result = method(self, *args, **kwargs)
            return operation.result

    setattr(call, _MARK, True)
    return call


def _operation(alma: Any, name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> Operation:
    try:
        given = signature.bind(alma, *args, **kwargs).arguments
    except TypeError:  # the call itself raises it
        given = {}
    given = {**given, **given.get("kwargs", {})}
    agent = given.get("agent")
    query = next((given[key] for key in _QUERIES if isinstance(given.get(key), str)), None)
    return Operation(OPERATIONS[name], name, alma._room.name, agent if isinstance(agent, str) else None, query)
