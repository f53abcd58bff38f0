"""Several runs of one context, whose memory was given once."""

import asyncio
import gc
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, JsonSerializer

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, ALMAMemoryBlock
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import episodes

pytestmark = pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key")
TURNS = ("Deploy auth", "Restart the database", "Tell me the port")


def agent_with(llm: ScriptedLLM, *, is_workflow: bool = False) -> Any:
    agent = FunctionAgent(name="first", description="helps", llm=llm)
    return AgentWorkflow(agents=[agent]) if is_workflow else agent


def tasks(alma: ALMA) -> list[str]:
    return [record.task for record in episodes(alma)]


def seen(llm: ScriptedLLM) -> list[bool]:
    """Whether each prompt has the first turn."""
    return [TURNS[0] in str(prompt) for prompt in llm.prompts]


@pytest.mark.parametrize("is_workflow", [False, True], ids=["an agent", "a workflow"])
@pytest.mark.parametrize("by", ["the context given", "the handler's context", "a context from a mapping"])
def test_every_turn_is_recorded_and_knows_the_ones_before(alma: ALMA, by: str, is_workflow: bool) -> None:
    llm, memory = ScriptedLLM(["one", "two", "three"]), ALMAMemory.from_defaults(alma, agent="dev")
    agent = agent_with(llm, is_workflow=is_workflow)

    async def main() -> None:
        context: Any = Context(agent) if by == "the context given" else None
        for number, turn in enumerate(TURNS):
            handler = agent.run(user_msg=turn, ctx=context, **({} if number else {"memory": memory}))
            await handler
            context = handler.ctx
            if by == "a context from a mapping":
                context = Context.from_dict(agent, context.to_dict(serializer=JsonSerializer()), serializer=JsonSerializer())

    asyncio.run(main())
    assert tasks(alma) == list(TURNS)
    assert seen(llm) == [True, True, True]


def test_notes_are_shown_in_a_later_turn(alma: ALMA) -> None:
    alma.add_heuristic("dev", TURNS[1], "after a backup")
    llm, memory = ScriptedLLM(["one", "two"]), ALMAMemory.from_defaults(alma, agent="dev")
    asyncio.run(_two(agent_with(llm), memory))
    assert ["after a backup" in str(prompt) for prompt in llm.prompts] == [False, True]


async def _two(agent: Any, memory: Any, later: Any = None) -> None:
    context = Context(agent)
    await agent.run(user_msg=TURNS[0], memory=memory, ctx=context)
    await agent.run(user_msg=TURNS[1], ctx=context, **({} if later is None else {"memory": later}))


def test_a_memory_of_ones_own_with_a_block_is_kept_too(alma: ALMA) -> None:
    llm = ScriptedLLM(["one", "two"])
    with ALMALearner(alma):
        asyncio.run(_two(agent_with(llm), Memory.from_defaults(memory_blocks=[ALMAMemoryBlock(alma, "dev")])))
    assert (tasks(alma), seen(llm)) == (list(TURNS[:2]), [True, True])


def test_another_memory_that_is_given_takes_precedence(alma: ALMA) -> None:
    llm, other = ScriptedLLM(["one", "two"]), ALMAMemory.from_defaults(alma, agent="ops")
    asyncio.run(_two(agent_with(llm), ALMAMemory.from_defaults(alma, agent="dev"), other))
    assert [record.agent for record in episodes(alma)] == ["dev", "ops"]
    assert seen(llm) == [True, False]


def test_contexts_keep_apart(alma: ALMA) -> None:
    llm = ScriptedLLM(["one", "two", "three", "four"])
    agent = agent_with(llm)

    async def main() -> None:
        memories = [ALMAMemory.from_defaults(alma, agent="dev", user_id=user) for user in ("ann", "bob")]
        contexts = [Context(agent) for _ in memories]
        for user, memory, context in zip(("ann", "bob"), memories, contexts, strict=True):
            await agent.run(user_msg=f"I am {user}", memory=memory, ctx=context)
        for context in contexts:
            await agent.run(user_msg="Who am I?", ctx=context)
        gc.collect()

    asyncio.run(main())
    assert [("ann" in str(prompt), "bob" in str(prompt)) for prompt in llm.prompts[2:]] == [(True, False), (False, True)]
    assert [record.user_id for record in episodes(alma)] == ["ann", "bob", "ann", "bob"]


def test_a_memory_that_is_gone_is_as_none_was_given(alma: ALMA) -> None:
    llm = ScriptedLLM(["one", "two"])
    agent = agent_with(llm)

    async def main() -> None:
        context = Context(agent)
        memory = ALMAMemory.from_defaults(alma, agent="dev")
        await agent.run(user_msg=TURNS[0], memory=memory, ctx=context)
        state = context.to_dict(serializer=JsonSerializer())
        del memory, context
        for _ in range(3):
            await asyncio.sleep(0)
            gc.collect()
        await agent.run(user_msg=TURNS[1], ctx=Context.from_dict(agent, state, serializer=JsonSerializer()))

    asyncio.run(main())
    assert tasks(alma)[0] == TURNS[0]


def test_a_plain_memory_is_left_to_llama_index(alma: ALMA) -> None:
    llm, kept = ScriptedLLM(["one", "two"]), ALMAMemory.from_defaults(alma, agent="dev")
    asyncio.run(_two(agent_with(llm), Memory.from_defaults()))
    assert (tasks(alma), seen(llm)) == ([], [True, False])
    assert kept.block.agent == "dev"
