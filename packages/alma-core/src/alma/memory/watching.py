"""Reports the calls that read and write memory to watchers: traces, metrics, logs. Without a watcher a call costs one look at the store."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

SEARCH, CREATE, UPDATE, UPSERT, DELETE = "search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"
"""Names of operations in the GenAI conventions of OpenTelemetry."""

OPERATIONS: Mapping[str, str] = {
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
