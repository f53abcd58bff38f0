"""What agents of the SDK have beyond the contract: guardrails that end a run, and notes for whoever takes a hand-off."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    MaxTurnsExceeded,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    SQLiteSession,
    function_tool,
    output_guardrail,
    set_tracing_disabled,
)
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from alma import ALMA, Context, Verdict, create_harness

TASK = Context(task="Deploy the auth service")
set_tracing_disabled(True)


@pytest.fixture
def alma(tmp_path: Path) -> Any:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as opened:
        yield opened


def test_a_guardrail_that_ends_the_run_teaches_its_reason(alma: ALMA) -> None:
    @output_guardrail
    async def cites(context: Any, agent: Any, output: str) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info="name your source", tripwire_triggered=True)

    agent = Agent(name="dev", model=ScriptedModel([[assistant_message("It is live.")]]), output_guardrails=[cites])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        create_harness("coding", "dev", alma, run=agent).run(TASK)

    (episode,) = alma.recent_episodes()
    assert episode.outcome is Verdict.FAILURE
    assert "name your source" in alma.retrieve(TASK.task, "dev").to_prompt()


def test_an_agent_that_takes_a_hand_off_is_shown_its_own_notes(alma: ALMA) -> None:
    alma.add_heuristic("fixer", TASK.task, "blue-green")
    asked: list[str] = []

    def respond(call: Any) -> Any:
        asked.append(str(call.input))
        return [assistant_message("It is live.")]

    fixer: Agent[Any] = Agent(name="fixer", model=ScriptedModel([ModelStep.respond(respond)]))
    model = ScriptedModel([[function_call("transfer_to_fixer", {}, call_id="h")]])
    create_harness("coding", "dev", alma, run=Agent(name="first", model=model, handoffs=[fixer])).run(TASK)

    assert "blue-green" in asked[0]
    assert {episode.agent for episode in alma.recent_episodes()} == {"dev", "fixer"}


def test_a_tool_with_a_handler_of_its_own_is_judged_by_what_it_says(alma: ALMA) -> None:
    @function_tool(failure_error_function=lambda context, error: f"Error: {error}")
    def deploy(way: str) -> str:
        raise RuntimeError("502 bad gateway")

    model = ScriptedModel([[function_call("deploy", {"way": "rolling"}, call_id="c")], [assistant_message("It failed.")]])
    create_harness("coding", "dev", alma, run=Agent(name="dev", model=model, tools=[deploy])).run(TASK)

    (step,) = alma.recent_episodes()[0].steps
    assert (step.ok, step.error) == (False, "Error: 502 bad gateway")


# Arguments of the SDK's own run.


@function_tool
def look_up(context: RunContextWrapper[dict[str, str]], name: str) -> str:
    """Looks up in what the program passed."""
    return context.context[name]


def looking(*further: Any) -> Agent[Any]:
    model = ScriptedModel([[function_call("look_up", {"name": "a"}, call_id="c")], [assistant_message("One.")], *further])
    return Agent(name="dev", model=model, tools=[look_up])


def test_a_tool_reads_the_context_of_the_run(alma: ALMA) -> None:
    result = create_harness("coding", "dev", alma, run=looking()).run(TASK, context={"a": "one"})

    assert [(step.ok, step.output) for step in alma.recent_episodes()[0].steps] == [(True, "one")]
    assert (result.output, type(result.result).__name__) == ("One.", "RunResult")


def test_a_session_keeps_the_conversation(alma: ALMA) -> None:
    session, asked = SQLiteSession("s"), list[str]()

    def respond(call: Any) -> Any:
        asked.append(str(call.input))
        return [assistant_message("Two.")]

    harness = create_harness("coding", "dev", alma, run=looking(ModelStep.respond(respond)))
    harness.run(Context(task="Count Oslo"), context={"a": "one"}, session=session)
    asyncio.run(harness.arun(Context(task="Count Bergen"), session=session))

    assert "Count Oslo" in asked[0]


def test_a_limit_of_turns_ends_the_run_as_a_failure(alma: ALMA) -> None:
    with pytest.raises(MaxTurnsExceeded):
        create_harness("coding", "dev", alma, run=looking()).run(TASK, context={"a": "one"}, max_turns=1)

    assert alma.recent_episodes()[0].outcome is Verdict.FAILURE


@pytest.mark.parametrize("is_mapping", [False, True])
def test_hooks_and_a_configuration_of_the_user_go_with_those_of_alma(alma: ALMA, is_mapping: bool) -> None:
    seen: list[str] = []

    class Counting(RunHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            seen.append(tool.name)

        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            seen.append(output)

    async def shorten(data: CallModelData[Any]) -> ModelInputData:
        seen.append("filter")
        return data.model_data

    given: dict[str, Any] = {"call_model_input_filter": shorten, "workflow_name": "mine"}
    config = given if is_mapping else RunConfig(**given)
    harness = create_harness("coding", "dev", alma, run=looking())
    harness.run(TASK, context={"a": "one"}, hooks=Counting(), run_config=config)

    assert seen == ["filter", "look_up", "filter", "One."]
    assert len(alma.recent_episodes()[0].steps) == 1


def test_a_formatter_of_the_user_words_an_error_that_alma_reads(alma: ALMA) -> None:
    @function_tool(failure_error_function=None)
    def deploy(way: str) -> str:
        raise RuntimeError("502 bad gateway")

    model = ScriptedModel([[function_call("deploy", {"way": "rolling"}, call_id="c")], [assistant_message("It failed.")]])
    agent: Agent[Any] = Agent(name="dev", model=model, tools=[deploy])
    config = RunConfig(tool_error_formatter=lambda error: "try later")
    with pytest.raises(Exception, match="502"):
        create_harness("coding", "dev", alma, run=agent).run(TASK, run_config=config)

    assert "502" in str(alma.recent_episodes()[0].error)
