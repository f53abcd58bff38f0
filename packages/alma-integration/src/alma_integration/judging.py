"""Calls evaluators and reads their answers."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeAlias

from alma.errors import ValidationError
from alma.memory.arguments import optional_text
from alma.text import quoted
from alma.types.kinds import Verdict
from alma_integration.views import RunView
from alma_integration.work import JUDGING

Judgement: TypeAlias = "Verdict | str | bool | tuple[Verdict | str | bool | None, str | None] | None"
"""A verdict, a verdict with its reason, or `None` for no verdict."""

Evaluator: TypeAlias = Callable[[RunView], Any]
"""Returns a `Judgement` of a run, or an awaitable of one."""


def read_judgement(said: object) -> tuple[Verdict | None, str | None]:
    """Returns the verdict and the reason. `ValidationError` for an invalid judgement."""
    word, reason = said if isinstance(said, tuple) and len(said) == 2 else (said, None)
    if isinstance(said, tuple) and len(said) != 2:
        raise ValidationError(f"an evaluator gives a verdict, or a pair of verdict and reason, not {quoted(said)}")
    return (None if word is None else Verdict.checked(word)), optional_text(reason, "reason")


def asked(evaluator: Evaluator, run: RunView) -> object:
    """Calls an evaluator and waits for it. A coroutine runs in an event loop of its own."""
    said = evaluator(run)
    return _awaited(said) if inspect.isawaitable(said) else said


async def asked_here(evaluator: Evaluator, run: RunView) -> object:
    """Calls an evaluator. A coroutine function is awaited in this loop; any other runs on the pool of evaluators, so that the loop's own
    threads stay free."""
    if inspect.iscoroutinefunction(evaluator):
        said = evaluator(run)
    else:
        said = await asyncio.wrap_future(JUDGING.submit(partial(copy_context().run, evaluator, run)))
    return await said if inspect.isawaitable(said) else said


def _awaited(said: Awaitable[Any]) -> Any:
    """Waits in a loop and a thread of its own, because this thread may have a running loop."""

    async def wait() -> Any:
        return await said

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, wait()).result()
