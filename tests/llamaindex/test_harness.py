"""Agents, workflows and query engines of LlamaIndex as the agent of a harness, with no learner installed by the program."""

import asyncio
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine, RetryQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from alma import ALMA, Context, Verdict, create_harness
from alma.testing import IntegrationContract
from alma_llamaindex import ALMALearner, ALMAMemory, ALMARetriever
from alma_llamaindex.testing import ScriptedLLM
from alma_testing.contracts.integration import Played, Scene, Turn
from framework_scenes import cancel_run, play_agents
from llama_scenes import Guardrail, agents_of, script

pytestmark = pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
TASK = "Deploy the auth service"


class TestHarness(IntegrationContract):
    has_interrupts = False  # a run that waits for a person is not put aside for another process

    def play(self, alma: ALMA, scene: Scene) -> Played:
        if scene.guardrail is not None:
            return play_agents(alma, scene, engine, is_async=False)
        return cancelled(alma, scene) if scene.is_cancelled else play_agents(alma, scene, agent, is_async=False, is_parted=False)


def agent(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> Any:
    """An agent, or a workflow of agents where one hands over."""
    agents = agents_of(scene, prompts)
    return agents[0] if len(agents) == 1 else AgentWorkflow(agents=agents, root_agent=name)


class Documents(BaseRetriever):
    """Finds one document, whatever is asked."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="The service is on port 80."), score=1.0)]


def engine(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> Any:
    """A query engine whose answers an evaluator may send back."""
    assert scene.guardrail is not None
    llm = ScriptedLLM(script(turns, prompts))
    Settings.llm = llm  # it makes its transformation of the question with this one
    inner = RetrieverQueryEngine.from_args(Documents(), llm=llm)
    return RetryQueryEngine(inner, Guardrail(scene.guardrail))


def cancelled(alma: ALMA, scene: Scene) -> Played:
    """Cancels the run while its tool runs."""
    entered = asyncio.Event()

    async def deploy(way: str) -> str:
        """Does not come back."""
        entered.set()
        await asyncio.Event().wait()
        return ""

    waiting = FunctionAgent(name=scene.agent, llm=ScriptedLLM(script(list(scene.turns), [])), tools=[deploy])
    return cancel_run(alma, scene, waiting, entered)


def test_an_agent_that_is_handed_over_to_is_shown_its_own_notes(alma: ALMA) -> None:
    alma.add_heuristic("first", TASK, "ask before noon")
    alma.add_heuristic("second", TASK, "use blue-green")
    prompts: dict[str, list[str]] = {"first": [], "second": []}
    turns: dict[str, Any] = {"first": [[("handoff", {"to_agent": "second", "reason": "it knows"})]], "second": ["It is live."]}

    def answers(name: str) -> Any:
        def answer(messages: Any) -> Any:
            prompts[name].append("\n".join(message.content or "" for message in messages))
            return turns[name].pop(0)

        return answer

    agents = [
        FunctionAgent(name=name, description=name, llm=ScriptedLLM(answers(name)), can_handoff_to=["second"]) for name in turns
    ]
    harness = create_harness("general", "first", alma, run=AgentWorkflow(agents=agents, root_agent="first"))

    result = harness.run(Context(task=TASK))

    assert result.output == "It is live."
    assert prompts["first"][0].count("ask before noon") == 1
    assert "use blue-green" not in prompts["first"][0]
    assert prompts["second"][0].count("use blue-green") == 1
    assert {episode.agent for episode in alma.recent_episodes()} == {"first", "second"}


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
def test_what_a_retriever_finds_has_the_tags_of_the_notes_in_the_question(alma: ALMA, streaming: bool) -> None:
    alma.add_heuristic("dev", TASK, "use blue-green")
    alma.add_heuristic("dev", TASK, "ask before noon")
    llm = ScriptedLLM(["By blue-green, see [H1]."])
    asked = RetrieverQueryEngine.from_args(ALMARetriever(alma, "dev", with_tags=True), llm=llm, streaming=streaming)
    harness = create_harness("general", "dev", alma, run=asked, evaluator=lambda run: "live" not in run.answer)

    result = harness.run(Context(task=TASK))

    assert (result.success, result.output) == (True, "By blue-green, see [H1].")
    prompt = "\n".join(message.content or "" for message in llm.prompts[0])
    for line in ("[H1]", "[H2]"):
        told = {text.partition(line)[2].strip() for text in prompt.splitlines() if line in text}
        assert len({"blue-green" in text for text in told}) == 1
    [episode] = alma.recent_episodes()
    assert [(shown.tag, shown.used) for shown in episode.shown] == [("H1", True), ("H2", False)]


def test_a_learner_of_the_same_project_records_no_second_episode(alma: ALMA) -> None:
    named = FunctionAgent(name="dev", llm=ScriptedLLM(["It is live.", "It is live."]))
    harness = create_harness("general", "dev", alma, run=named, evaluator=lambda run: True)

    with ALMALearner(alma, agents=["dev"]) as learner:
        harness.run(Context(task=TASK))
        assert [episode.outcome for episode in alma.recent_episodes()] == [Verdict.SUCCESS]

        async def without_a_harness() -> None:
            await named.run(user_msg=TASK, memory=ALMAMemory.from_defaults(alma, "dev"))

        asyncio.run(without_a_harness())
        learner.flush()
        assert len(alma.recent_episodes()) == 2


def test_an_agent_in_a_tool_of_the_run_is_no_part_of_it(alma: ALMA) -> None:
    def lookup(what: str) -> str:
        """Looks it up."""
        return what

    inner = FunctionAgent(name="inner", llm=ScriptedLLM([[("lookup", {"what": "x"})], "found"]), tools=[lookup])

    async def ask(question: str) -> str:
        """Asks another agent."""
        return str(await inner.run(user_msg=question))

    outer = FunctionAgent(name="outer", llm=ScriptedLLM([[("ask", {"question": "where?"})], "there"]), tools=[ask])
    harness = create_harness("general", "outer", alma, run=outer)

    assert harness.run(Context(task=TASK)).tools_used == ("ask",)


def test_a_memory_of_the_user_keeps_the_chat_of_several_runs(alma: ALMA) -> None:
    llm, memory = ScriptedLLM(["one", "two"]), Memory.from_defaults()
    harness = create_harness("coding", "dev", alma, run=FunctionAgent(name="first", llm=llm))
    for task in ("Deploy auth", "Restart the database"):
        harness.run(Context(task=task), memory=memory)
    assert "Deploy auth" in str(llm.prompts[1])
    assert [record.task for record in alma.recent_episodes()] == ["Restart the database", "Deploy auth"]
