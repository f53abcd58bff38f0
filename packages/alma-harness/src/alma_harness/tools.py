"""Tools whose calls are recorded as steps of a run."""

import functools
import inspect
import time
from collections.abc import Callable
from typing import Any

from alma_harness.setting import tool_name
from alma_integration import Run, ToolUse, noted_on, tool_use


def recorded(run: Run, tool: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns the tool, a coroutine function if it is one. Each call is a step of the run; its result and its error are unchanged."""
    return _arecorded(run, tool, name) if inspect.iscoroutinefunction(tool) else _recorded(run, tool, name)


def recorded_tool(run: Run, tool: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Returns a tool whose calls are steps of the run, for functions that call tools of their own. `name` is by default the tool's."""
    return recorded(run, tool, name or tool_name(tool))


def use_of(tool: Callable[..., Any], name: str, given: tuple[Any, ...], named: dict[str, Any], task: str) -> ToolUse:
    """Returns a call as the kit names it: positional arguments by the names of the parameters."""
    try:
        bound = inspect.signature(tool).bind(*given, **named)
    except (TypeError, ValueError):  # no signature, or a call that does not match it
        return tool_use(name, {**{f"argument_{place}": value for place, value in enumerate(given)}, **named}, task=task)
    arguments = dict(bound.arguments)
    rest = next((each.name for each in bound.signature.parameters.values() if each.kind is each.VAR_KEYWORD), None)
    arguments.update(arguments.pop(rest, {}) if rest else {})
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
