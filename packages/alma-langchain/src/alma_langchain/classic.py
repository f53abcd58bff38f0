"""Connects a memory and a handler with the run of a chain of langchain-classic.

Such a chain passes its memory only its inputs, so the notes among them identify one of several concurrent runs. The chain asks its memory
first and creates its callbacks afterwards. Between the two, a handler waits in the context of that run, where LangChain looks through a
hook. The hook is registered when a memory is first asked; for every other run it finds nothing.
"""

from contextvars import ContextVar
from functools import cache
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.tracers.context import register_configure_hook

from alma_integration import Run


class Notes(str):
    """The notes as a text, with the run that they were looked up for; `None` if memory could not be read."""

    run: Run | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # in other processes it is a plain text


class NotedDocuments(list[Document]):
    """The notes as documents, with their run."""

    run: Run | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def runs_in(inputs: Any) -> list[Run]:
    """Returns the runs whose notes are among the inputs of a chain. Does not examine values of other classes."""
    values = inputs.values() if isinstance(inputs, dict) else ()
    return [value.run for value in values if isinstance(value, Notes | NotedDocuments) and value.run is not None]


_COMING: ContextVar[Any] = ContextVar("alma_memory_handler", default=None)


class _Here:
    """Answers LangChain's lookup like a context variable."""

    def get(self) -> Any:
        """Returns the handler that waits here, unless it is taken."""
        handler = _COMING.get()
        return None if handler is None or handler.is_taken else handler


@cache
def _register() -> None:
    register_configure_hook(cast("ContextVar[Any]", _Here()), inheritable=True)


def await_runs(handler: Any) -> None:
    """Has the chains of this context report their runs to this handler, until it `is_taken`."""
    _register()
    _COMING.set(handler)
