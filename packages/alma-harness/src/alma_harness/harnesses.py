"""`Harness`: retrieves, builds the prompt, runs the agent, and records how it went."""

import inspect
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Unpack

from alma import ALMA, MemorySlice
from alma.errors import ConfigurationError, ValidationError
from alma.text import quoted
from alma_harness.domains import DomainSchema, schema_named
from alma_harness.following import acalled, astreamed, called, streamed, text_of
from alma_harness.option_names import options_of
from alma_harness.prompts import prompt_of
from alma_harness.results import result_of, verdict_of
from alma_harness.run_parameter import run_parameter
from alma_harness.setting import Context, MemorySchema, RunResult, Setting, tool_name
from alma_harness.tools import recorded
from alma_harness.wrapped_agents import driven
from alma_integration import (
    Bounded,
    Integration,
    OptionArguments,
    Run,
    RunContext,
    RunReport,
    VerdictSource,
    checked_alma,
    checked_name,
)

MOST_OPEN = 10_000
"""Runs that were prepared and not ended yet; the oldest is dropped for a new one."""

Agent = Callable[..., Any]
"""Called with the prompt, with the recorded tools if it takes two arguments, and with its `Run` for a parameter annotated so."""


class Harness:
    """One agent in a fixed setting, with memory around each run. Threads and event loops may share it.

    `agent` is the name whose memory is used. `run` is the agent itself: a function, a coroutine function or a generator of either kind,
    called with the prompt, and with the setting's tools by name if it takes two arguments; calls of these are steps of the run. A
    parameter annotated with `alma.integration.Run` is given the run, to report corrections, hand-offs and calls of tools of its own.
    It may also be an agent of PydanticAI, the OpenAI Agents SDK, smolagents, LangChain, LlamaIndex or CrewAI, with its own tools: it is
    given the prompt. Keyword arguments of a run go to the function, or to the framework's own method: `deps=`, `session=`, `config=`.
    Without `run`, a run returns the prompt and an open episode, and `post_run` ends it. `options` are those of `alma.integration.Options`.
    """

    def __init__(
        self,
        setting: Setting,
        agent: str,
        alma: ALMA,
        schema: MemorySchema | None = None,
        *,
        run: Any = None,
        **options: Unpack[OptionArguments],
    ) -> None:
        if not isinstance(setting, Setting):
            raise ConfigurationError(f"setting must be a Setting, not {quoted(setting)}")
        function = None if run is None else driven(run) or run
        if function is not None and not callable(function):
            raise ConfigurationError(f"run must be a function or an agent of a known framework, not {quoted(run)}")
        self.setting = setting
        self.agent = checked_name(agent, "agent")
        self.alma = checked_alma(alma)
        self.schema = schema or MemorySchema()
        self.agent_function: Agent | None = function
        self._options = options_of(dict(options))
        self._integrations = Bounded[str, Integration](MOST_OPEN)
        self._integrations[alma.project_id] = Integration(alma, agent=agent, options=self._options)
        self._open = Bounded[str, _Prepared](MOST_OPEN)

    @property
    def errors(self) -> list[Exception]:
        """The last errors of ALMA itself, of every project, oldest first within each."""
        return [error for integration in tuple(self._integrations.values()) for error in integration.errors]

    # A run in one call.

    def run(self, context: Context, /, **arguments: Any) -> RunResult:
        """Retrieves, builds the prompt, runs the agent and records the outcome. The agent's exception is recorded and raised again."""
        prepared = self._prepare(context)
        if self.agent_function is None:
            return self._handed_out(context, prepared, arguments)
        output = called(prepared.run, self._call(prepared, arguments))
        return self._ended(prepared, output, VerdictSource.AGENT)

    async def arun(self, context: Context, /, **arguments: Any) -> RunResult:
        """As `run`, in an event loop. An agent that is not asynchronous runs in another thread."""
        prepared = self._prepare(context)
        await prepared.run.arecall()
        if self.agent_function is None:
            return self._handed_out(context, prepared, arguments)
        output = await acalled(prepared.run, self._call(prepared, arguments), is_async=_is_async(self.agent_function))
        return await self._aended(prepared, output, VerdictSource.AGENT)

    def stream(self, context: Context, /, **arguments: Any) -> Iterator[Any]:
        """Passes on what the agent, a generator, yields. The run ends with the stream; left early, it ends without a verdict."""
        prepared = self._prepare(context)
        return streamed(
            prepared.run, self._call(prepared, arguments), lambda output: self._ended(prepared, output, VerdictSource.AGENT)
        )

    async def astream(self, context: Context, /, **arguments: Any) -> AsyncIterator[Any]:
        """As `stream`, for an asynchronous generator."""
        prepared = self._prepare(context)
        await prepared.run.arecall()
        end = partial(self._aended, prepared, source=VerdictSource.AGENT)
        async for chunk in astreamed(prepared.run, self._call(prepared, arguments), end):
            yield chunk

    # Its parts.

    def pre_run(self, context: Context) -> MemorySlice:
        """Opens a run and returns what is remembered for it. `post_run` with the same context ends it."""
        prepared = self._prepare(context)
        prepared.run.recall()
        self._open[context.run_id] = prepared
        return prepared.run.memories

    def build_prompt(self, context: Context, memories: MemorySlice | None = None) -> str:
        """Returns the prompt of a run: with these memories, or with those that `pre_run` showed."""
        opened = self._open.get(_checked(context).run_id)
        if memories is not None:
            _, notes = memories.fitted(self._options.max_tokens)
        else:
            notes = opened.run.recall() if opened else ""
        return self.prompt(context, notes)

    def post_run(self, context: Context, result: RunResult | Any = None) -> RunResult:
        """Ends a run that `pre_run`, or `run` without an agent, opened: by a `RunResult`, whose `success` is the verdict, or by any output.

        `ValidationError` if no such run is open.
        """
        prepared = self._open.pop(_checked(context).run_id, None)
        if prepared is None:
            raise ValidationError(f"no open run for run_id {quoted(context.run_id)}; call pre_run with this context first")
        return self._ended(prepared, result, VerdictSource.CALLER)

    # Inside.

    def prompt(self, context: Context, notes: str) -> str:
        """Returns the prompt of a run with these notes. Inputs that the agent takes as objects of its own are no part of it."""
        own = getattr(self.agent_function, "own_inputs", ())
        inputs = {name: value for name, value in context.inputs.items() if name not in own}
        return prompt_of(self.setting, context.model_copy(update={"inputs": inputs}), notes)

    def _prepare(self, context: Context) -> "_Prepared":
        integration = self._integration(_checked(context).project_id)
        known = RunContext(context=context)
        run = integration.run(context.task, agent=self.agent, context=known, run_id=context.run_id, thread_id=context.session_id)
        return _Prepared(self, context, run)

    def _integration(self, project_id: str | None) -> Integration:
        name = self.alma.project_id if project_id is None else project_id
        found = self._integrations.get(name)
        if found is not None:
            return found
        return self._integrations.kept(name, Integration(self.alma.for_project(name), agent=self.agent, options=self._options))

    def _handed_out(self, context: Context, prepared: "_Prepared", arguments: Mapping[str, Any]) -> RunResult:
        if arguments:
            raise ConfigurationError(f"this harness has no agent to give {', '.join(arguments)} to; create it with run=")
        self._open[context.run_id] = prepared
        prompt, run = prepared.prompt, prepared.run
        return RunResult(output=prompt, prompt=prompt, memories=run.memories, episode=run.episode, episode_id=run.episode_id)

    def _call(self, prepared: "_Prepared", arguments: Mapping[str, Any]) -> Callable[[], Any]:
        agent = self.agent_function
        if agent is None:
            raise ConfigurationError("this harness has no agent; create it with run=")
        own = run_parameter(agent)
        named = {**arguments, own: prepared.run} if own else dict(arguments)
        return lambda: agent(prepared.prompt, *([prepared.tools()] if _takes_tools(agent, named) else []), **named)

    def _ended(self, prepared: "_Prepared", output: Any, source: VerdictSource) -> RunResult:
        said, how = prepared.ending(output, source)
        prepared.run.model_said(said)
        return prepared.result(output, prepared.run.end(said, **how))

    async def _aended(self, prepared: "_Prepared", output: Any, source: VerdictSource) -> RunResult:
        said, how = prepared.ending(output, source)
        prepared.run.model_said(said)
        return prepared.result(output, await prepared.run.aend(said, **how))


class _Prepared:
    """A run that was begun, and its prompt, which is built once."""

    def __init__(self, harness: Harness, context: Context, run: Run) -> None:
        self._harness = harness
        self._context = context
        self.run = run
        self._start = time.perf_counter()
        self._prompt: str | None = None

    @property
    def prompt(self) -> str:
        if self._prompt is None:
            self._prompt = self._harness.prompt(self._context, self.run.recall())
        return self._prompt

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Returns the setting's functions by name, each call of which is recorded."""
        functions = [tool for tool in self._harness.setting.tools if not isinstance(tool, str)]
        return {tool_name(tool): recorded(self.run, tool, tool_name(tool)) for tool in functions}

    def ending(self, output: Any, source: VerdictSource) -> tuple[str, dict[str, Any]]:
        """Returns the text of the output, and how the run ends by it."""
        if not isinstance(output, RunResult):
            return text_of(output), {"result": output}
        how: dict[str, Any] = {
            "result": output.result or output.output,
            "verdict": verdict_of(output),
            "source": source,
            "reason": output.error,
        }
        return text_of(output.output), how

    def result(self, output: Any, report: RunReport | None) -> RunResult:
        given = output if isinstance(output, RunResult) else RunResult(output=output)
        seconds = time.perf_counter() - self._start
        return result_of(self.run, given, report or self.run.report, prompt=self._prompt or "", duration_ms=seconds * 1000)


def create_harness(
    domain: str | DomainSchema | Setting,
    agent: str,
    alma: ALMA,
    run: Any = None,
    *,
    tools: tuple[str | Callable[..., Any], ...] = (),
    **options: Unpack[OptionArguments],
) -> Harness:
    """Returns a harness for an agent in a domain: one of the six by name, one's own schema, or a `Setting` without a domain.

    `tools` are those of its setting. The rules for learning are those that `alma` was opened with; `harness.schema.to_scope()` has those of
    the domain.
    """
    if isinstance(domain, Setting):
        return Harness(domain, agent, alma, run=run, **options)
    schema = schema_named(domain)
    setting = Setting(name=schema.name, description=schema.description, tools=tuple(tools), global_constraints=schema.constraints)
    return Harness(setting, agent, alma, MemorySchema(**schema.to_scope().model_dump(exclude={"agent_name"})), run=run, **options)


def _checked(context: object) -> Context:
    if not isinstance(context, Context):
        raise ValidationError(f"a harness runs a Context, not {quoted(context)}: Context(task=…)")
    return context


def _is_async(agent: Agent) -> bool:
    called_itself = getattr(agent, "__call__", agent)  # noqa: B004 - an object may have an asynchronous __call__
    return any(
        test(each) for each in (agent, called_itself) for test in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )


def _takes_tools(agent: Agent, named: Collection[str]) -> bool:
    try:
        parameters = inspect.signature(agent).parameters.values()
    except (TypeError, ValueError):
        return False
    placed = [
        each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.name not in named
    ]
    return len([each for each in placed if each.default is each.empty]) >= 2
