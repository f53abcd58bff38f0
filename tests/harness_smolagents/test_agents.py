"""What agents of smolagents have beyond the contract: code as action, teams, one memory."""

from pathlib import Path
from typing import Any

import pytest
from smolagents import CodeAgent, LogLevel, Tool
from smolagents.models import ChatMessage, MessageRole, Model

from alma import ALMA, Context, Verdict, create_harness

TASK = Context(task="Deploy the auth service")


class Deploy(Tool):
    name, description, output_type = "deploy", "Deploys the service.", "string"
    inputs = {"way": {"type": "string", "description": "how"}}  # noqa: RUF012 - as smolagents wants it

    def forward(self, way: str) -> str:
        if way == "rolling":
            raise RuntimeError("502 bad gateway")
        return f"live by {way}"


class Coding(Model):
    """Writes one piece of code after the other."""

    def __init__(self, *codes: str) -> None:
        super().__init__(model_id="scripted")
        self._left = list(codes)

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        return ChatMessage(MessageRole.ASSISTANT, f"Thought: go\n<code>\n{self._left.pop(0)}\n</code>")


@pytest.fixture
def alma(tmp_path: Path) -> Any:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as opened:
        yield opened


def test_calls_in_the_code_of_a_code_agent_are_steps_with_their_arguments_named(alma: ALMA) -> None:
    agent = CodeAgent([Deploy()], Coding('deploy("rolling")', 'final_answer(deploy("blue-green"))'), verbosity_level=LogLevel.OFF)
    harness = create_harness("coding", "dev", alma, run=agent, evaluator=lambda run: "live" in run.answer)

    assert harness.run(TASK).output == "live by blue-green"

    (episode,) = alma.recent_episodes()
    assert episode.outcome is Verdict.SUCCESS
    assert [(step.action, step.ok) for step in episode.steps] == [
        ('deploy(way="rolling")', False),
        ('deploy(way="blue-green")', True),
    ]


def test_a_run_leaves_the_tools_and_the_team_as_they_were(alma: ALMA) -> None:
    member = CodeAgent([], Coding('final_answer("done")'), name="helper", description="helps", verbosity_level=LogLevel.OFF)
    deploy = Deploy()
    agent = CodeAgent(
        [deploy], Coding('helper("look")', 'final_answer("It is live.")'), managed_agents=[member], verbosity_level=LogLevel.OFF
    )

    create_harness("coding", "dev", alma, run=agent).run(TASK)

    assert agent.managed_agents == {"helper": member}
    assert "forward" not in vars(deploy)
    assert [step.tool for step in alma.recent_episodes()[0].steps] == ["helper"]


def test_arguments_of_the_run_reach_the_code_of_the_agent(alma: ALMA) -> None:
    agent = CodeAgent(tools=[Deploy()], model=Coding("deploy(way)", "final_answer('live')"), verbosity_level=LogLevel.OFF)
    create_harness("coding", "dev", alma, run=agent).run(TASK, additional_args={"way": "blue-green"})

    assert [(step.tool, step.ok) for step in alma.recent_episodes()[0].steps] == [("deploy", True)]
