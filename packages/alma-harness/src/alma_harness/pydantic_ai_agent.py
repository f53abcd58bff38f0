"""Runs an agent of PydanticAI in a harness: its hooks report each tool call, and each answer that a validator sent back."""

import time
from collections.abc import Callable
from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, SkipToolExecution, ToolFailedError, ToolRetryError

from alma_harness.setting import RunResult
from alma_integration import Run, check_parts, noted_on, tool_use

check_parts(
    "alma-harness",
    "pydantic-ai-slim",
    (
        "pydantic_ai.capabilities:AbstractCapability.after_model_request",
        "pydantic_ai.capabilities:AbstractCapability.on_tool_validate_error",
        "pydantic_ai.capabilities:AbstractCapability.wrap_tool_execute",
        "pydantic_ai.capabilities:AbstractCapability.on_output_validate_error",
        "pydantic_ai.capabilities:AbstractCapability.wrap_output_process",
        "pydantic_ai:Agent.run(capabilities)",
    ),
)

_NOT_MADE = (ApprovalRequired, CallDeferred, SkipToolExecution)
"""Signals that put a call off or leave it out: they say nothing about the tool."""


def driven(agent: AbstractAgent[Any, Any]) -> Callable[..., Any]:
    """Returns the function that runs the agent once and returns its output and its result."""
    return _Driven(agent)


class _Driven:
    """Runs the agent. `deps` may be an argument or an input of the `Context`, which the model does not see."""

    own_inputs = ("deps",)

    def __init__(self, agent: AbstractAgent[Any, Any]) -> None:
        self._agent = agent

    async def __call__(self, prompt: str, run: Run, **given: Any) -> RunResult:
        inputs = getattr(run.context.context, "inputs", {})
        own = {name: inputs[name] for name in self.own_inputs if name in inputs}
        followed = [*(given.pop("capabilities", None) or ()), Following(run)]
        result = await self._agent.run(prompt, capabilities=followed, **{**own, **given})
        return RunResult(output=result.output, result=result)


class Following(AbstractCapability[Any]):
    """Reports what one run of an agent does. A capability is PydanticAI's form of a set of hooks."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        said = [
            part.args_as_json_str() if part.part_kind == "tool-call" else getattr(part, "content", "") for part in response.parts
        ]
        self._run.model_said("\n".join(text for text in said if isinstance(text, str)))
        return response

    async def on_tool_validate_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Any) -> Any:
        use = tool_use(call.tool_name, args, schema=tool_def.parameters_json_schema, task=self._run.task)
        with noted_on(error):
            self._run.tool_failed(use, str(error))
            await self._run.asettle()
        raise error

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        use = tool_use(call.tool_name, args, schema=tool_def.parameters_json_schema, task=self._run.task)
        start = time.perf_counter()
        try:
            result = await handler(args)
        except _NOT_MADE:
            raise
        except BaseException as error:
            with noted_on(error):
                self._raised(use, error, time.perf_counter() - start)
                await self._run.asettle()
            raise
        self._run.tool_returned(use, result, seconds=time.perf_counter() - start)
        await self._run.asettle()
        return result

    async def on_output_validate_error(self, ctx: Any, *, output_context: Any, output: Any, error: Any) -> Any:
        self._run.corrected(_said(error))
        raise error

    async def wrap_output_process(self, ctx: Any, *, output_context: Any, output: Any, handler: Any) -> Any:
        try:
            return await handler(output)
        except (ModelRetry, ToolRetryError) as error:
            if not ctx.partial_output:
                self._run.corrected(_said(error))
            raise

    def _raised(self, use: Any, error: BaseException, seconds: float) -> None:
        if isinstance(error, ModelRetry | ToolRetryError | ToolFailedError):
            self._run.tool_failed(use, _said(error), seconds=seconds)
        else:
            self._run.tool_raised(use, error, seconds=seconds)


def _said(error: Exception) -> str:
    """Returns what the model is sent, without the framework's request to try again."""
    sent = getattr(error, "tool_retry", None) or getattr(error, "tool_failed", None)
    content = getattr(sent, "content", None)
    return content if isinstance(content, str) else str(error)
