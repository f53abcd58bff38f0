"""What agents of the SDK have beyond the contract: guardrails that end a run, and notes for whoever takes a hand-off."""

from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    OutputGuardrailTripwireTriggered,
    function_tool,
    output_guardrail,
    set_tracing_disabled,
)
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
