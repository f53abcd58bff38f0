"""Tools whose calls are recorded as steps of a run."""

import functools
import inspect
import time
from collections.abc import Callable
from typing import Any

from alma.integration import Run, ToolUse, noted_on, tool_use


def recorded(run: Run, tool: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns the tool, a coroutine function if it is one. Each call is a step of the run; its result and its error are unchanged."""
    return _arecorded(run, tool, name) if inspect.iscoroutinefunction(tool) else _recorded(run, tool, name)


def use_of(tool: Callable[..., Any], name: str, given: tuple[Any, ...], named: dict[str, Any], task: str) -> ToolUse:
    """Returns a call as the kit names it: positional arguments by the names of the parameters."""
    try:
        arguments = dict(inspect.signature(tool).bind(*given, **named).arguments)
    except (TypeError, ValueError):  # no signature, or a call that does not match it
        arguments = {**{f"argument_{place}": value for place, value in enumerate(given)}, **named}
    return tool_use(name, arguments, task=task)


def _recorded(run: Run, tool: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(tool)
    def call(*given: Any, **named: Any) -> Any:
        use, start = use_of(tool, name, given, named, run.task), time.perf_counter()
        try:
            result = tool(*given, **named)
        except BaseException as error:
            with noted_on(error):
                run.tool_raised(use, error, seconds=time.perf_counter() - start)
                run.settle()
            raise
        run.tool_returned(use, result, seconds=time.perf_counter() - start)
        run.settle()
        return result

    return call


def _arecorded(run: Run, tool: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(tool)
    async def call(*given: Any, **named: Any) -> Any:
        use, start = use_of(tool, name, given, named, run.task), time.perf_counter()
        try:
            result = await tool(*given, **named)
        except BaseException as error:
            with noted_on(error):
                run.tool_raised(use, error, seconds=time.perf_counter() - start)
                await run.asettle()
            raise
        run.tool_returned(use, result, seconds=time.perf_counter() - start)
        await run.asettle()
        return result

    return call
