"""What the learner takes for granted about LlamaIndex's spans.

When one of these fails, a new version of LlamaIndex has changed them; `spans.py` is the place to mend.
"""

import asyncio
from inspect import BoundArguments
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, ToolCallResult
from llama_index.core.agent.workflow.workflow_events import AgentWorkflowStartEvent
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span import BaseSpan, active_span_id
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.workflow.events import StopEvent
from pydantic import Field
from workflows.errors import WorkflowCancelledByUser

from alma_llamaindex import spans
from llama_runs import OK_THEN_BAD, TASK, agent_of, run


class Spy(BaseSpanHandler[BaseSpan]):
    """Notes each span: its id, instance, arguments, parent, and how it was left."""

    entered: dict[str, tuple[Any, dict[str, Any], str | None]] = Field(default_factory=dict)
    left: dict[str, Any] = Field(default_factory=dict)
    dropped: dict[str, Any] = Field(default_factory=dict)
    dropped_without: set[str] = Field(default_factory=set)

    def new_span(
        self, id_: str, bound_args: BoundArguments, instance: Any = None, parent_span_id: str | None = None, **given: Any
    ) -> BaseSpan:
        self.entered[id_] = (instance, dict(bound_args.arguments), parent_span_id)
        return BaseSpan(id_=id_)

    def prepare_to_exit_span(self, id_: str, bound_args: BoundArguments, result: Any = None, **given: Any) -> BaseSpan | None:
        self.left[id_] = result
        return self.open_spans.get(id_)

    def prepare_to_drop_span(self, id_: str, bound_args: BoundArguments, err: Any = None, **given: Any) -> BaseSpan | None:
        self.dropped[id_] = err
        if given["instance"] is None and id_.partition("-")[0].endswith(".run"):
            self.dropped_without.add(id_)
        return self.open_spans.get(id_)

    def named(self, method: str) -> list[str]:
        return [id_ for id_ in self.entered if id_.partition("-")[0].endswith(f".{method}")]


class Asked(BaseMemoryBlock[str]):
    """Notes inside of which span it is asked."""

    name: str = "asked"
    inside: list[str | None] = Field(default_factory=list)

    async def _aget(self, messages: Any = None, **given: Any) -> str:
        self.inside.append(active_span_id.get())
        return ""

    async def _aput(self, messages: Any) -> None:
        """Nothing."""


@pytest.fixture
def spy() -> Any:
    handler = Spy(), get_dispatcher()
    handler[1].add_span_handler(handler[0])
    yield handler[0]
    handler[1].span_handlers.remove(handler[0])


def test_a_run_is_one_span_of_the_agent_with_its_start_event_and_ends_with_its_output(spy: Spy) -> None:
    agent = agent_of(OK_THEN_BAD)
    run(agent, Memory.from_defaults())
    (whole,) = spy.named("run")
    instance, arguments, _ = spy.entered[whole]
    assert instance is agent, "the span of a run no longer has the agent as its instance"
    assert isinstance(arguments["start_event"], AgentWorkflowStartEvent), "the span of a run no longer has its start event"
    assert arguments["start_event"].get("user_msg") == TASK, "the start event no longer has the user's message"
    assert spans.first_agent(instance) == "dev"
    result = spy.left[whole]
    assert isinstance(result, StopEvent), "the span of a run no longer ends with a StopEvent"
    assert isinstance(result.result, AgentOutput), "the span of a run no longer ends with the agent's output"
    assert spans.output_of(result) == "done"


def test_steps_are_children_of_the_run_and_say_whose_turn_it_is(spy: Spy) -> None:
    run(agent_of(OK_THEN_BAD), Memory.from_defaults())
    (whole,) = spy.named("run")
    for method in ("init_run", "setup_agent", "run_agent_step", "parse_agent_output", "call_tool", "aggregate_tool_results"):
        for step in spy.named(method):
            _, arguments, parent = spy.entered[step]
            assert parent == whole, f"{method} is no longer a child of the run"
            assert "ctx" in arguments, f"{method} no longer has the context among its arguments"
    for step in spy.named("run_agent_step"):
        assert spy.entered[step][1]["ev"].current_agent_name == "dev", "a turn no longer says whose it is"
        assert isinstance(spy.left[step], AgentOutput), "a turn no longer ends with what the agent said"


def test_a_tool_call_ends_with_its_result_also_when_the_tool_fails(spy: Spy) -> None:
    run(agent_of(OK_THEN_BAD), Memory.from_defaults())
    results = [spy.left[step] for step in spy.named("call_tool")]
    assert all(isinstance(result, ToolCallResult) for result in results), "call_tool no longer ends with a ToolCallResult"
    assert [(result.tool_name, result.tool_output.is_error) for result in results] == [("ok", False), ("bad", True)]
    assert isinstance(results[1].tool_output.exception, ValueError), "a failed tool no longer has its exception"


def test_memory_blocks_are_asked_inside_of_a_steps_span(spy: Spy) -> None:
    block = Asked()
    run(agent_of(OK_THEN_BAD), Memory.from_defaults(memory_blocks=[block]))
    (whole,) = spy.named("run")
    assert [spy.entered[id_][2] for id_ in block.inside] == [whole] * 4, "a block can no longer tell which run asks it"


AGENTS = [agent_of, lambda script, **given: AgentWorkflow(agents=[agent_of(script, **given)], root_agent="dev")]


@pytest.mark.parametrize("make", AGENTS, ids=["agent", "workflow"])
def test_a_memory_is_asked_before_the_first_turn_begins(spy: Spy, make: Any) -> None:
    block = Asked()
    run(make(OK_THEN_BAD), Memory.from_defaults(memory_blocks=[block]))
    order = list(spy.entered)
    turns = [place for place, id_ in enumerate(order) if spans.method(id_) == spans.TURN]
    assert len(turns) == 3, "a turn is no longer a step of that name"
    assert order.index(str(block.inside[0])) < turns[0], "a memory is no longer asked before the first turn"


@pytest.mark.parametrize("make", AGENTS, ids=["agent", "workflow"])
def test_what_a_tool_does_is_inside_of_its_call(spy: Spy, make: Any) -> None:
    inside: list[str | None] = []

    async def look() -> str:
        """Notes where it is."""
        span = active_span_id.get()
        while span in spy.entered:
            inside.append(span)
            span = spy.entered[span][2]
        return ""

    run(make([[("look", {})], "done"], tools=[look]), Memory.from_defaults())
    assert [spans.method(str(id_)) == spans.TOOL_CALL for id_ in inside].count(True) == 1, (
        "a tool's doings are no longer inside of its call"
    )


def test_a_dispatcher_that_shuts_down_drops_runs_without_an_instance(spy: Spy) -> None:
    run(agent_of([[("shut_down", {})], "done"], tools=[shut_down]), Memory.from_defaults())
    (whole,) = spy.named("run")
    assert spy.dropped_without == {whole}, "a shutdown can no longer be told from a failure"


def shut_down() -> str:
    """Ends the watching."""
    get_dispatcher().shutdown()
    return ""


def test_a_failed_run_is_dropped_with_its_error(spy: Spy) -> None:
    with pytest.raises(RuntimeError):
        run(agent_of([RuntimeError("no tokens left")]), Memory.from_defaults())
    (whole,) = spy.named("run")
    assert "no tokens left" in str(spy.dropped[whole]), "a failed run's span is no longer dropped with its error"


def test_a_cancelled_run_ends_without_a_result(spy: Spy) -> None:
    async def wait() -> str:
        """Waits."""
        await asyncio.Event().wait()
        return ""

    async def go() -> None:
        handler = agent_of([[("wait", {})]], tools=[wait]).run(user_msg=TASK)
        async for event in handler.stream_events():
            if getattr(event, "tool_name", "") == "wait":
                break
        await handler.cancel_run()
        with pytest.raises(WorkflowCancelledByUser):
            await handler

    asyncio.run(go())
    (whole,) = spy.named("run")
    assert spy.left.get(whole, "dropped") is None, "a cancelled run's span no longer ends with None"


def test_a_hand_off_is_a_tool_call_and_the_context_knows_who_is_next(spy: Spy) -> None:
    workflow = AgentWorkflow(
        agents=[agent_of([[("handoff", {"to_agent": "b", "reason": "r"})]], name="a"), agent_of(["done"], name="b")],
        root_agent="a",
    )
    run(workflow, Memory.from_defaults())
    (whole,) = spy.named("run")
    assert spans.first_agent(spy.entered[whole][0]) == "a"
    handed = [spy.left[step].tool_name for step in spy.named("call_tool")]
    assert handed == [spans.HANDOFF], "handing over is no longer a tool of that name"
    context = spy.entered[spy.named("run_agent_step")[-1]][1]["ctx"]
    assert asyncio.run(spans.next_speaker(context)) == "b", "the context no longer knows whose turn it is"
