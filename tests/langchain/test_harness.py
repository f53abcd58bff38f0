"""Agents, graphs and chains of LangChain as the agent of a harness.

The harness begins and ends the run, so a part of a hand-off is judged by itself, a guardrail of a graph is its own, and a run is not
put aside for another process; `ALMAMiddleware` has all of that.
"""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool

from alma import ALMA, Context, Verdict, create_harness
from alma.testing import IntegrationContract
from alma_langchain.testing import ScriptedChatModel
from alma_testing.contracts.integration import Played, Scene, Turn
from chain_scenes import _model, _tool
from framework_scenes import cancel_run, play_agents


class TestHarness(IntegrationContract):
    has_guardrail = has_one_verdict = has_interrupts = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return cancelled(alma, scene) if scene.is_cancelled else play_agents(alma, scene, agent, is_async=False)


def agent(scene: Scene, name: str, turns: list[Turn], prompts: list[str], entered: asyncio.Event | None = None) -> Any:
    """An agent whose model follows the turns."""
    shown = ToolErrorMiddleware(on_error=lambda error, request: f"{type(error).__name__}: {error}")
    tools = [_tool(each, scene, entered or asyncio.Event()) for each in scene.tools]
    return create_agent(_model(turns, prompts), tools, middleware=[shown])


def cancelled(alma: ALMA, scene: Scene) -> Played:
    """Cancels the run while its first tool runs."""
    entered = asyncio.Event()
    return cancel_run(alma, scene, agent(scene, scene.agent, list(scene.turns), [], entered), entered)


@pytest.mark.parametrize("is_text", [True, False], ids=["a text", "an input by name"])
def test_a_chain_is_given_the_prompt_in_the_form_that_it_takes(alma: ALMA, is_text: bool) -> None:
    model = FakeListChatModel(responses=["It is live."])
    chain: Any = model | StrOutputParser()
    if not is_text:
        chain = ChatPromptTemplate.from_messages([("user", "{question}")]) | chain
    harness = create_harness("coding", "dev", alma, run=chain, evaluator=lambda run: "live" in run.answer)

    result = harness.run(Context(task="Deploy the auth service"))

    assert (result.success, result.output) == (True, "It is live.")
    assert [episode.outcome for episode in alma.recent_episodes()] == [Verdict.SUCCESS]


def test_a_configuration_and_a_context_of_the_user_go_with_the_run(alma: ALMA) -> None:
    seen: list[Any] = []

    class Listening(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            seen.append(kwargs["metadata"]["ticket"])

    @tool
    def look(runtime: ToolRuntime[Any]) -> str:
        """Reads the context."""
        seen.append(runtime.context)
        return "done"

    model = ScriptedChatModel(script=[("look", {}), "It is live."])
    harness = create_harness("coding", "dev", alma, run=create_agent(model, [look], context_schema=dict))
    harness.run(Context(task="Deploy"), config={"callbacks": [Listening()], "metadata": {"ticket": 7}}, context={"region": "eu"})
    assert seen == [7, {"region": "eu"}, 7]
    assert [step.ok for step in alma.recent_episodes()[0].steps] == [True]
