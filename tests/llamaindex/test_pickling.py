"""Memories that are copied, pickled or written down with a context: what they keep, and how they find their store again."""

import asyncio
import copy
import pickle

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, JsonPickleSerializer, JsonSerializer
from workflows.context.state_store import UnserializableKeyWarning

from alma import ALMA, ConfigurationError
from alma_llamaindex import ALMAMemory, ALMAMemoryBlock, ALMARetriever, instrument_alma
from alma_llamaindex.handler import LEARNERS
from llama_runs import TASK, agent_of, episodes, run, whole_text

LESSON = "roll out blue-green"


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    alma.add_heuristic("dev", TASK, LESSON)
    return alma


def test_a_copy_shares_the_store(taught: ALMA) -> None:
    block = ALMAMemoryBlock(taught, agent="dev")
    assert copy.deepcopy(block).alma is taught
    assert block.model_copy(deep=True).alma is taught


def test_a_context_written_as_json_takes_its_memory_from_the_next_run(taught: ALMA) -> None:
    agent = agent_of(["done", "done"])

    async def go() -> None:
        context = Context(agent)
        await agent.run(user_msg=TASK, ctx=context, memory=ALMAMemory.from_defaults(taught, agent="dev"))
        with pytest.warns(UnserializableKeyWarning, match="memory"):
            written = context.to_dict(serializer=JsonSerializer())
        again = Context.from_dict(agent, written, serializer=JsonSerializer())
        await agent.run(user_msg=TASK, ctx=again, memory=ALMAMemory.from_defaults(taught, agent="dev"))

    asyncio.run(go())
    assert [whole_text(prompt).count(LESSON) for prompt in agent.llm.prompts] == [1, 1]


def test_a_pickled_context_finds_its_store_by_the_learner_that_is_installed_or_says_so(taught: ALMA) -> None:
    agent = agent_of(["done"] * 3)

    async def go() -> None:
        context = Context(agent)
        await agent.run(user_msg=TASK, ctx=context, memory=ALMAMemory.from_defaults(taught, agent="dev"))
        written = context.to_dict(serializer=JsonPickleSerializer())
        again = Context.from_dict(agent, written, serializer=JsonPickleSerializer())
        await agent.run(user_msg=TASK, ctx=again)
        LEARNERS.in_charge(taught).uninstall()
        once_more = Context.from_dict(agent, written, serializer=JsonPickleSerializer())
        with pytest.raises(ConfigurationError, match="0 learners are installed for project 'shop'"):
            await agent.run(user_msg=TASK, ctx=once_more)

    asyncio.run(go())
    assert [whole_text(prompt).count(LESSON) for prompt in agent.llm.prompts] == [1, 1]
    assert len(episodes(taught)) == 2


def test_a_memory_goes_on_after_it_was_pickled(taught: ALMA) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev")
    agent = agent_of(["done", "done again"])
    run(agent, memory)
    written = pickle.dumps(memory)
    run(agent, memory, f"{TASK} again")
    assert [message.content for message in memory.get_all()] == [TASK, "done", f"{TASK} again", "done again"]
    assert isinstance(pickle.loads(written), ALMAMemory)


def test_what_was_shown_is_not_pickled(taught: ALMA) -> None:
    block = ALMAMemoryBlock(taught, agent="dev")
    messages = [ChatMessage(role="user", content=TASK)]
    notes = asyncio.run(block.aget(messages))
    assert LESSON in notes
    written = pickle.dumps(block)
    assert LESSON.encode() not in written
    with instrument_alma(taught):
        assert asyncio.run(pickle.loads(written).aget(messages)) == notes


def test_a_pickled_block_is_detached(taught: ALMA) -> None:
    block = pickle.loads(pickle.dumps(ALMAMemoryBlock(taught, agent="dev", user_id="ann", evaluator=lambda run: True)))
    assert (block.agent, block.options) == ("dev", {"user_id": "ann"})
    with pytest.raises(ConfigurationError, match="instrument_alma"):
        _ = block.alma
    with instrument_alma(taught):
        assert block.alma is taught


def test_a_memory_whose_agent_is_a_function_is_not_pickled_and_the_error_says_why(taught: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="name the agent"):
        pickle.dumps(ALMAMemoryBlock(taught, agent=lambda run: "dev"))


def test_a_pickled_retriever_finds_its_store_by_the_learner_that_is_installed(taught: ALMA) -> None:
    retriever = ALMARetriever(taught, "dev", top_k=1, kinds=["heuristic"], evaluator=lambda run: True)
    written = pickle.dumps(retriever)
    assert LESSON.encode() not in written
    again = pickle.loads(written)
    with pytest.raises(ConfigurationError, match="instrument_alma"):
        again.retrieve(TASK)
    with instrument_alma(taught):
        assert [found.node.node_id for found in again.retrieve(TASK)] == taught.retrieve(TASK, "dev").ids


def test_an_unpickled_memory_says_which_of_its_functions_its_runs_go_without(
    taught: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", evaluator=lambda run: True)
    written = pickle.dumps(memory)
    run(agent_of(["done"]), pickle.loads(written))
    assert [record.message.partition(":")[0] for record in caplog.records if record.name == "alma"] == [
        "a memory was unpickled without its functions; its runs go without evaluator"
    ]
    caplog.clear()
    with instrument_alma(taught, evaluator=lambda run: True):
        run(agent_of(["done"]), pickle.loads(written))
        assert [record for record in caplog.records if record.name == "alma"] == []
        assert [record.outcome for record in episodes(taught)] == ["unverified", "success"]
