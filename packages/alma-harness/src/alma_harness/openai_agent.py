"""Runs an agent of the OpenAI Agents SDK in a harness: its hooks report tool calls, hand-offs and what the model said."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agents import Agent, OutputGuardrailTripwireTriggered, RunConfig, RunHooks, Runner
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from alma_integration import Run, ToolUse, tool_use


def driven(agent: Agent[Any]) -> Callable[..., Any]:
    """Returns the function that runs the agent once and returns its final output."""

    async def run_agent(prompt: str, run: Run) -> Any:
        following = Following(run, agent)
        try:
            result = await Runner.run(agent, prompt, hooks=following, run_config=following.config())
        except OutputGuardrailTripwireTriggered as error:
            run.corrected(str(error.guardrail_result.output.output_info or error))
            raise
        return result.final_output

    return run_agent


class Following(RunHooks[Any]):
    """Reports one run. The first agent has the name of the harness; agents that it hands over to have their own."""

    def __init__(self, run: Run, first: Agent[Any]) -> None:
        self._run = run
        self._names = {first.name: run.agent}
        self._started: dict[str, float] = {}
        self._errors: dict[str, Exception] = {}

    def config(self) -> RunConfig:
        """Returns the configuration of the run: what a tool raised is read, and an agent that is handed over to is shown its notes."""
        return RunConfig(call_model_input_filter=self._with_notes, tool_error_formatter=self._noticed)

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

    def _noticed(self, error: ToolErrorFormatterArgs[Any]) -> str | None:
        if error.kind == "tool_exception" and error.error is not None:
            self._errors[error.call_id] = error.error
        return None

    async def _with_notes(self, data: CallModelData[Any]) -> ModelInputData:
        if self._run.speaking == self._run.agent:
            return data.model_data
        notes = await self._run.arecall()
        if not notes:
            return data.model_data
        return replace(data.model_data, input=[{"role": "user", "content": notes}, *data.model_data.input])


def _text(item: Any) -> str:
    if getattr(item, "type", None) == "function_call":
        return str(item.arguments)
    parts = getattr(item, "content", None) or ()
    return "\n".join(str(part.text) for part in parts if getattr(part, "type", None) == "output_text")
