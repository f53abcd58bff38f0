"""Chat engines with an ALMA memory learn as runs, in each of their four ways to answer."""

import asyncio
from typing import Any

import pytest
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, ALMARetriever
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import TASK, agent_of, episodes, run, whole_text

LESSON = "roll out blue-green"


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    alma.add_heuristic("dev", TASK, LESSON)
    return alma


def simple(alma: ALMA, memory: Any, llm: ScriptedLLM) -> Any:
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory)


def with_context(alma: ALMA, memory: Any, llm: ScriptedLLM) -> Any:
    return ContextChatEngine.from_defaults(ALMARetriever(alma, "dev", with_tags=True), llm=llm, memory=memory)


def condensed_with_context(alma: ALMA, memory: Any, llm: ScriptedLLM) -> Any:
    return CondensePlusContextChatEngine.from_defaults(
        ALMARetriever(alma, "dev", with_tags=True), llm=llm, memory=memory, skip_condense=True
    )


def condensed(alma: ALMA, memory: Any, llm: ScriptedLLM) -> Any:
    engine = RetrieverQueryEngine.from_args(ALMARetriever(alma, "dev", with_tags=True), llm=llm, streaming=True)
    return CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=memory)


ENGINES = [simple, with_context, condensed_with_context, condensed]


async def stream_in_a_loop(engine: Any) -> str:
    response = await engine.astream_chat(TASK)
    return "".join([token async for token in response.async_response_gen()])


WAYS = {
    "chat": lambda engine: str(engine.chat(TASK)),
    "achat": lambda engine: str(asyncio.run(engine.achat(TASK))),
    "stream_chat": lambda engine: "".join(engine.stream_chat(TASK).response_gen),
    "astream_chat": lambda engine: asyncio.run(stream_in_a_loop(engine)),
}


def says(answer: str, make: Any) -> ScriptedLLM:
    """The engine that condenses asks its model first what is asked, where there is a chat before; notes count as one."""
    return ScriptedLLM([TASK, answer] if make is condensed else [answer])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", ENGINES)
def test_an_answer_is_a_run_that_is_judged_and_shown_each_note_once(taught: ALMA, make: Any, way: str) -> None:
    llm = says("by blue-green", make)
    with ALMALearner(taught, evaluator=lambda run: run.answer == "by blue-green") as learner:
        assert WAYS[way](make(taught, ALMAMemory.from_defaults(taught, agent="dev"), llm)) == "by blue-green"
    assert [(record.agent, record.task, record.outcome) for record in episodes(taught)] == [("dev", TASK, "success")]
    assert [whole_text(prompt).count(LESSON) for prompt in llm.prompts[:1]] == [1]
    assert [len(record.shown) for record in episodes(taught)] == [1]
    assert learner.errors == []


@pytest.mark.parametrize("make", ENGINES)
def test_what_was_shown_can_be_cited(taught: ALMA, make: Any) -> None:
    with ALMALearner(taught):
        make(taught, ALMAMemory.from_defaults(taught, agent="dev"), says("see [H1]", make)).chat(TASK)
    assert [[exposure.used for exposure in record.shown] for record in episodes(taught)] == [[True]]


def test_a_retriever_tool_leaves_out_what_the_notes_of_its_agent_show(taught: ALMA) -> None:
    tool = RetrieverTool.from_defaults(ALMARetriever(taught, "dev"), name="lessons", description="What was learned.")
    asked = [[("lessons", {"input": TASK})], [("lessons", {"input": "Write the minutes"})], "done"]
    taught.add_heuristic("dev", "Write the minutes", "by hand")
    agent = agent_of(asked, tools=[tool])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", top_k=1))
    assert [(whole_text(prompt).count(LESSON), whole_text(prompt).count("by hand")) for prompt in agent.llm.prompts] == [
        (1, 0),
        (1, 0),
        (1, 1),
    ]


def test_a_query_engine_as_a_tool_has_its_notes_though_its_agent_was_shown_them(taught: ALMA) -> None:
    llm = ScriptedLLM(["by blue-green"])
    engine = RetrieverQueryEngine.from_args(ALMARetriever(taught, "dev"), llm=llm)
    tool = QueryEngineTool.from_defaults(engine, name="lessons", description="What was learned.")
    run(agent_of([[("lessons", {"input": TASK})], "done"], tools=[tool]), ALMAMemory.from_defaults(taught, agent="dev"))
    assert [whole_text(prompt).count(LESSON) for prompt in llm.prompts] == [1]


def test_a_chat_that_fails_is_a_failure(taught: ALMA) -> None:
    engine = simple(taught, ALMAMemory.from_defaults(taught, agent="dev"), ScriptedLLM([RuntimeError("no tokens left")]))
    with pytest.raises(RuntimeError, match="no tokens left"):
        engine.chat(TASK)
    assert [record.error for record in episodes(taught)] == ["RuntimeError: no tokens left"]


def test_a_chat_without_alma_is_not_learned_from(taught: ALMA) -> None:
    with ALMALearner(taught):
        simple(taught, Memory.from_defaults(), ScriptedLLM(["done"])).chat(TASK)
    assert episodes(taught) == []
