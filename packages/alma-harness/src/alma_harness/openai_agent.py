"""Runs an agent of the OpenAI Agents SDK in a harness: its hooks report tool calls, hand-offs and what the model said."""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agents import Agent, OutputGuardrailTripwireTriggered, RunConfig, RunHooks, Runner
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from alma_harness.setting import RunResult
from alma_integration import Run, ToolUse, check_parts, tool_use

check_parts(
    "alma-harness",
    "openai-agents",
    (
        "agents:RunHooks.on_llm_end",
        "agents:RunHooks.on_handoff",
        "agents:RunHooks.on_tool_start",
        "agents:RunHooks.on_tool_end",
        "agents.tool_context:ToolContext.tool_call_id",
        "agents.tool_context:ToolContext.tool_arguments",
    ),
)


def driven(agent: Agent[Any]) -> Callable[..., Any]:
    """Returns the function that runs the agent once and returns its final output and its result. `hooks` and `run_config` of the user go
    with those of ALMA."""

    async def run_agent(prompt: str, run: Run, hooks: Any = None, run_config: Any = None, **given: Any) -> RunResult:
        following = Following(run, agent)
        both = following if hooks is None else _Hooks(following, hooks)
        try:
            result = await Runner.run(agent, prompt, hooks=both, run_config=following.config(run_config), **given)
        except OutputGuardrailTripwireTriggered as error:
            run.corrected(str(error.guardrail_result.output.output_info or error))
            raise
        return RunResult(output=result.final_output, result=result)

    return run_agent


class Following(RunHooks[Any]):
    """Reports one run. The first agent has the name of the harness; agents that it hands over to have their own."""

    def __init__(self, run: Run, first: Agent[Any]) -> None:
        self._run = run
        self._names = {first.name: run.agent}
        self._started: dict[str, float] = {}
        self._errors: dict[str, Exception] = {}
        self._filter: Callable[[Any], Any] | None = None
        self._formatter: Callable[[Any], Any] | None = None

    def config(self, given: RunConfig | dict[str, Any] | None) -> RunConfig:
        """Returns the configuration of the run: what a tool raised is read, and an agent that is handed over to is shown its notes. A filter
        and a formatter of the user are asked, too."""
        own = RunConfig(**given) if isinstance(given, dict) else given or RunConfig()
        self._filter, self._formatter = own.call_model_input_filter, own.tool_error_formatter
        return replace(own, call_model_input_filter=self._with_notes, tool_error_formatter=self._noticed)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        said = [_text(item) for item in response.output]
        self._run.model_said("\n".join(text for text in said if text))

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        await self._run.asettle()
        self._run.hand_over(self._names.get(to_agent.name, to_agent.name))

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self._started[getattr(context, "tool_call_id", "")] = time.perf_counter()

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        call_id = getattr(context, "tool_call_id", "")
        seconds = time.perf_counter() - self._started.pop(call_id, time.perf_counter())
        error = self._errors.pop(call_id, None)
        if error is None:
            self._run.tool_returned(self._use(context, tool), result, seconds=seconds)
        else:
            self._run.tool_raised(self._use(context, tool), error, seconds=seconds)
        await self._run.asettle()

    def _use(self, context: Any, tool: Any) -> ToolUse:
        given = getattr(context, "tool_arguments", "")
        return tool_use(tool.name, given, schema=getattr(tool, "params_json_schema", None), task=self._run.task)

    def _noticed(self, error: ToolErrorFormatterArgs[Any]) -> Any:
        if error.kind == "tool_exception" and error.error is not None:
            self._errors[error.call_id] = error.error
        return None if self._formatter is None else self._formatter(error)

    async def _with_notes(self, data: CallModelData[Any]) -> ModelInputData:
        changed = data.model_data if self._filter is None else self._filter(data)
        asked: ModelInputData = await changed if inspect.isawaitable(changed) else changed
        notes = "" if self._run.speaking == self._run.agent else await self._run.arecall()
        return replace(asked, input=[{"role": "user", "content": notes}, *asked.input]) if notes else asked


class _Hooks(RunHooks[Any]):
    """Calls two sets of hooks, one after the other."""

    def __init__(self, *both: RunHooks[Any]) -> None:
        for name in (name for name in dir(RunHooks) if name.startswith("on_")):
            setattr(self, name, _in_turn([getattr(hooks, name) for hooks in both]))


def _in_turn(calls: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    async def call_both(*given: Any, **named: Any) -> None:
        for call in calls:
            await call(*given, **named)

    return call_both


def _text(item: Any) -> str:
    if getattr(item, "type", None) == "function_call":
        return str(item.arguments)
    parts = getattr(item, "content", None) or ()
    return "\n".join(str(part.text) for part in parts if getattr(part, "type", None) == "output_text")
