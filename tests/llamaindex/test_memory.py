"""What a run is shown: once retrieved, once in each prompt, and nothing where there is nothing."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock
from llama_index.core.storage.chat_store.sql import MessageStatus

from alma import ALMA, ConfigurationError, StorageError
from alma.integration import Bounded
from alma_llamaindex import ALMALearner, ALMAMemory, ALMAMemoryBlock
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import OK_THEN_BAD, TASK, agent_of, episodes, run, user_text, whole_text

LESSON = "roll out blue-green"


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    alma.add_heuristic("dev", TASK, LESSON)
    return alma


def test_a_task_may_be_a_chat_message(taught: ALMA) -> None:
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev"), ChatMessage(role="user", content=TASK))
    assert [record.task for record in episodes(taught)] == [TASK]


@pytest.mark.parametrize("learn", [True, False])
def test_a_run_of_two_tool_calls_asks_the_block_four_times_and_alma_once(
    taught: ALMA, retrievals: list[tuple[str, str]], learn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = ALMAMemoryBlock._aget

    async def counted(self: ALMAMemoryBlock, messages: list[ChatMessage] | None = None, **given: object) -> str:
        asked.append((messages or [])[-1].role.value)
        return await ask(self, messages, **given)

    monkeypatch.setattr(ALMAMemoryBlock, "_aget", counted)
    run(agent_of(OK_THEN_BAD), ALMAMemory.from_defaults(taught, agent="dev", learn=learn))
    assert asked == ["user", "user", "user", "assistant"]
    assert retrievals == [("dev", TASK)]


@pytest.mark.parametrize("learn", [True, False])
def test_the_same_words_again_are_asked_for_again(taught: ALMA, retrievals: list[tuple[str, str]], learn: bool) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", learn=learn)
    agent = agent_of(OK_THEN_BAD * 2)
    run(agent, memory)
    run(agent, memory)
    assert retrievals == [("dev", TASK)] * 2


def test_the_same_words_in_a_chat_that_began_anew_are_asked_for_again(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", learn=False)
    agent = agent_of(["done"] * 2)
    run(agent, memory)
    memory.reset()
    run(agent, memory)
    assert len(retrievals) == 2


@pytest.mark.parametrize("anew", [lambda engine: engine.reset(), lambda engine: engine._memory.set([])])
def test_a_chat_engine_that_begins_anew_is_shown_what_was_learned_meanwhile(alma: ALMA, anew: Any) -> None:
    """It never shows its answers to a memory, so only the reset says that the first question comes again."""
    engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(["done"] * 3), memory=ALMAMemory.from_defaults(alma, agent="dev"))
    engine.chat(TASK)
    alma.add_heuristic("dev", TASK, LESSON)
    anew(engine)
    engine.chat(TASK)
    assert [LESSON in whole_text(prompt) for prompt in engine._llm.prompts] == [False, True]


def test_other_words_in_one_session_are_another_question(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", learn=False)
    agent = agent_of(["done"] * 2)
    run(agent, memory)
    run(agent, memory, "And now the shop")
    assert [task for _, task in retrievals] == [TASK, "And now the shop"]


def test_runs_that_share_a_memory_at_one_time_are_each_asked_for_their_own_task(
    taught: ALMA, retrievals: list[tuple[str, str]]
) -> None:
    tasks = [f"{TASK} to the {place}" for place in ("north", "south")]

    async def go() -> None:
        memory = ALMAMemory.from_defaults(taught, agent="dev")
        await memory.aput(ChatMessage(role="assistant", content="Hello"))  # it makes the chat's table, which two at once cannot
        await asyncio.gather(*(agent_of(OK_THEN_BAD).run(user_msg=task, memory=memory) for task in tasks))

    asyncio.run(go())
    assert sorted(task for _, task in retrievals) == tasks
    assert sorted(episode.task for episode in episodes(taught)) == tasks


def asking(memory: ALMAMemory, told: list[str], question: str = TASK) -> Any:
    async def consult() -> str:
        """Looks into a memory."""
        told.append(whole_text(await memory.aget(input=question)))
        return "seen"

    return consult


def test_a_tool_with_a_memory_of_its_own_is_told_what_that_one_knows_and_nothing_of_the_runs(taught: ALMA) -> None:
    taught.add_user_preference("ann", "deployment", "Deploy the auth service on Fridays alone")
    taught.add_heuristic("ops", TASK, "ask the ops team")
    taught.add_heuristic("ops", "Write the minutes", "by hand")
    told: list[str] = []
    tool = asking(ALMAMemory.from_defaults(taught, agent="ops", user_id="bob", top_k=1), told, "Write the minutes")
    agent = agent_of([[("consult", {})], "done"], tools=[tool])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", user_id="ann"))
    assert [("by hand" in text, "ask the ops team" in text) for text in told] == [(True, False)]
    assert [(LESSON in text, "Fridays" in text) for text in told] == [(False, False)]
    assert [(text.count(LESSON), text.count("Fridays")) for text in map(whole_text, agent.llm.prompts)] == [(1, 1)] * 2
    assert [(episode.agent, len(episode.shown)) for episode in episodes(taught)] == [("dev", 2)]


def test_a_run_is_not_recorded_in_another_project_into_which_a_tool_looks(taught: ALMA) -> None:
    lab, told = taught.for_project("lab"), list[str]()
    lab.add_heuristic("dev", TASK, "as in the lab")
    tool = asking(ALMAMemory.from_defaults(lab, agent="dev"), told)
    run(agent_of([[("consult", {})], "done"], tools=[tool]), ALMAMemory.from_defaults(taught, agent="dev"))
    assert [("as in the lab" in text, LESSON in text) for text in told] == [(True, False)]
    assert (len(episodes(taught)), episodes(lab)) == (1, [])


def test_a_tool_that_looks_into_the_runs_own_memory_asks_nothing_anew(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    told: list[str] = []
    memory = ALMAMemory.from_defaults(taught, agent="dev")
    run(agent_of([[("consult", {})], "done"], tools=[asking(memory, told)]), memory)
    assert [LESSON in text for text in told] == [True]
    assert retrievals == [("dev", TASK)]


def test_of_two_blocks_each_is_asked_for_once(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    second = ALMAMemoryBlock(taught, agent="ops", name="of others")
    run(agent_of(OK_THEN_BAD), ALMAMemory.from_defaults(taught, agent="dev", memory_blocks=[second]))
    assert retrievals == [("dev", TASK), ("ops", TASK)]
    assert [episode.agent for episode in episodes(taught)] == ["dev"]


@pytest.mark.parametrize("method", InsertMethod)
def test_each_prompt_holds_the_lesson_exactly_once(taught: ALMA, method: InsertMethod) -> None:
    agent = agent_of(OK_THEN_BAD)
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", insert_method=method))
    assert [whole_text(prompt).count(LESSON) for prompt in agent.llm.prompts] == [1, 1, 1]


@pytest.mark.parametrize(("method", "systems"), [(InsertMethod.USER, 1), (InsertMethod.SYSTEM, 2)])
def test_put_into_the_users_message_it_takes_no_second_system_message(taught: ALMA, method: InsertMethod, systems: int) -> None:
    agent = agent_of(OK_THEN_BAD, system_prompt="You deploy.")
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", insert_method=method))
    assert [[message.role for message in prompt].count(MessageRole.SYSTEM) for prompt in agent.llm.prompts] == [systems] * 3


def test_the_chat_that_is_kept_has_no_notes_in_it(taught: ALMA) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev")
    run(agent_of(["done"]), memory)
    assert [message.content for message in memory.get_all()] == [TASK, "done"]


@pytest.mark.parametrize("method", InsertMethod)
def test_where_nothing_is_known_the_prompt_is_the_users_message(alma: ALMA, method: InsertMethod) -> None:
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev", insert_method=method))
    assert [(message.role.value, message.content) for message in agent.llm.prompts[0]] == [("user", TASK)]


def test_a_chat_that_llamaindexs_own_memory_keeps_in_a_database_goes_on(taught: ALMA, tmp_path: Path) -> None:
    kept: dict[str, Any] = {"session_id": "s", "async_database_uri": f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"}
    run(agent_of(["It is down."]), Memory.from_defaults(**kept), "Is it up?")
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", **kept))
    assert [message.content for message in agent.llm.prompts[0][:2]] == ["Is it up?", "It is down."]
    assert LESSON in user_text(agent.llm.prompts[0])


def test_a_users_preferences_come_with_the_user(taught: ALMA) -> None:
    taught.add_user_preference("ann", "deployment", "Never deploy the auth service on Fridays")
    for user, shown in (("ann", True), ("bob", False), (None, False)):
        agent = agent_of(["done"])
        run(agent, ALMAMemory.from_defaults(taught, agent="dev", user_id=user))
        assert ("Fridays" in user_text(agent.llm.prompts[0])) is shown
    assert [episode.user_id for episode in episodes(taught)] == ["ann", "bob", None]


def test_the_block_alone_serves_a_memory_of_the_users_own(taught: ALMA) -> None:
    agent = agent_of(["done"])
    with ALMALearner(taught):
        run(agent, Memory.from_defaults(memory_blocks=[ALMAMemoryBlock(taught, agent="dev")]))
    assert LESSON in whole_text(agent.llm.prompts[0])
    assert len(episodes(taught)) == 1


def test_a_memory_answers_without_an_agent_too(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev")
    memory.put(ChatMessage(role="user", content=TASK))
    assert LESSON in whole_text(memory.get())
    assert LESSON in whole_text(asyncio.run(memory.aget()))
    assert len(retrievals) == 1


def test_in_an_event_loop_it_does_not_hold_it_up(taught: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    retrieve = taught.retrieve

    def noted(**given: Any) -> Any:
        threads.append(threading.current_thread())
        return retrieve(**given)

    monkeypatch.setattr(taught, "retrieve", noted)
    for learn in (True, False):
        run(agent_of(["done"]), ALMAMemory.from_defaults(taught, agent="dev", learn=learn))
    assert len(threads) == 2
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(("top_k", "shown"), [(1, 1), (3, 3), (5, 4)])
def test_of_each_kind_so_many_are_shown_at_most(taught: ALMA, top_k: int, shown: int) -> None:
    for word in ("mail", "wiki", "chat"):
        taught.add_heuristic("dev", f"{TASK} and the {word}", f"the way of {word}")
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", top_k=top_k))
    assert user_text(agent.llm.prompts[0]).count("\n[H") == shown


def test_a_message_of_any_length_and_content_is_no_hindrance(taught: ALMA) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", token_limit=10**6)
    run(agent_of(["done"]), memory, f"{TASK} \ud800 {'very ' * 60_000}")
    assert [len(episode.task) for episode in episodes(taught)] == [2_000]


FAULTS = [StorageError("the database is locked"), OSError("the disk is gone")]


@pytest.mark.parametrize("fault", FAULTS)
def test_when_the_store_fails_the_agent_goes_on_without_memory(
    taught: ALMA, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails(**given: object) -> None:
        raise fault

    monkeypatch.setattr(taught, "retrieve", fails)
    memory = ALMAMemory.from_defaults(taught, agent="dev")
    agent = agent_of(["done"])
    assert str(run(agent, memory)) == "done"
    assert whole_text(agent.llm.prompts[0]) == TASK
    assert memory.learner.flush()
    assert memory.learner.errors == [fault]
    assert [(episode.task, episode.shown) for episode in episodes(taught)] == [(TASK, ())]


@pytest.mark.parametrize("fault", FAULTS)
def test_without_a_learner_too_it_goes_on_and_says_so(
    taught: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    def fails(**given: object) -> None:
        raise fault

    monkeypatch.setattr(taught, "retrieve", fails)
    assert str(run(agent_of(["done"]), ALMAMemory.from_defaults(taught, agent="dev", learn=False))) == "done"
    assert f"memory could not be read: {type(fault).__name__}: {fault}" in caplog.text


def test_what_another_thread_asks_meanwhile_does_not_change_the_notes(taught: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    taught.add_heuristic("dev", "Write the minutes", "by hand")
    block = ALMAMemoryBlock(taught, agent="dev", top_k=1)
    keep = Bounded.__setitem__

    def ask(task: str) -> str:
        return asyncio.run(block.aget([ChatMessage(role="user", content=task)]))

    def meanwhile(*given: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            with ThreadPoolExecutor(1) as other:
                assert "by hand" in other.submit(ask, "Write the minutes").result()
        keep(*given)

    monkeypatch.setattr(Bounded, "__setitem__", meanwhile)
    assert LESSON in ask(TASK)


def test_what_overflows_is_archived_and_nothing_of_it_is_lost(taught: ALMA) -> None:
    memory = ALMAMemory.from_defaults(taught, agent="dev", token_limit=60)
    agent = agent_of(["done"] * 6)
    for number in range(6):
        run(agent, memory, f"Deploy the auth service, for the {number}th time, and say so in many, many words")
    kept = memory.get_all()
    assert len(kept) == 12
    assert len(memory.get_all(status=MessageStatus.ARCHIVED)) > 6
    assert len(episodes(taught)) == 6


def test_too_little_room_leaves_out_whole_notes(taught: ALMA) -> None:
    for number in range(4):
        taught.add_heuristic("dev", TASK, f"{'word ' * 60} number {number}")
    block = ALMAMemoryBlock(taught, agent="dev", priority=1)

    async def go() -> tuple[str, str | None, str | None]:
        whole = await block.aget([ChatMessage(role="user", content=TASK)])
        return whole, await block.atruncate(whole, 150), await block.atruncate(whole, 10**6)

    whole, fewer, none = asyncio.run(go())
    assert fewer is not None
    assert none is None
    assert 0 < fewer.count("number") < whole.count("number")
    assert set(fewer.splitlines()) <= set(whole.splitlines())


def test_where_nothing_is_shown_there_is_nothing_to_make_shorter(alma: ALMA) -> None:
    long = StaticMemoryBlock(name="long", static_content="word " * 500)
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev", priority=1, token_limit=200, memory_blocks=[long]))
    assert "ALMA" not in whole_text(agent.llm.prompts[0])


def test_what_had_no_room_was_not_shown(taught: ALMA) -> None:
    for number in range(4):
        taught.add_heuristic("dev", TASK, f"{'word ' * 60} number {number}")
    agent = agent_of(["As [H1] says"])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", max_tokens=200))
    (record,) = episodes(taught)
    notes = [line for line in user_text(agent.llm.prompts[0]).splitlines() if line.startswith("[H")]
    assert 0 < len(notes) < 5
    assert [exposure.tag for exposure in record.shown] == [note[1:3] for note in notes]


@pytest.mark.parametrize(
    ("tokenizer", "token_limit", "fewest", "most"),
    [(None, 200, 1, 3), (None, 60, 0, 0), (None, 3_000, 4, 4), (list, 1_000, 1, 3)],
    ids=["some", "none", "all", "some letters"],
)
def test_what_made_way_for_the_chat_was_not_shown(taught: ALMA, tokenizer: Any, token_limit: int, fewest: int, most: int) -> None:
    for number in range(3):
        taught.add_heuristic("dev", TASK, f"{'word ' * 60} number {number}")
    agent = agent_of([[("ok", {})], "As [H1] says"])
    run(agent, ALMAMemory.from_defaults(taught, agent="dev", priority=1, token_limit=token_limit, tokenizer_fn=tokenizer))
    (record,) = episodes(taught)
    notes = [line for line in user_text(agent.llm.prompts[0]).splitlines() if line.startswith("[H")]
    assert fewest <= len(notes) <= most
    assert [exposure.tag for exposure in record.shown] == [note[1:3] for note in notes]


@pytest.mark.parametrize(("priorities", "is_counted"), [((0, 0), False), ((1, 0), True), ((0, 1), True)])
def test_the_tokens_of_notes_are_counted_only_where_a_block_may_have_to_make_way(
    taught: ALMA, priorities: tuple[int, int], is_counted: bool
) -> None:
    counted: list[str] = []

    def tokenizer(text: str) -> list[str]:
        counted.append(text)
        return text.split()

    mine, other = priorities
    blocks = [StaticMemoryBlock(name="other", static_content="static words", priority=other)]
    run(
        agent_of(["done"]),
        ALMAMemory.from_defaults(taught, agent="dev", priority=mine, memory_blocks=blocks, tokenizer_fn=tokenizer),
    )
    assert TASK in counted
    assert any("ALMA" in text for text in counted) is is_counted


def test_a_memory_made_without_alma_says_so() -> None:
    with pytest.raises(ConfigurationError, match="from_defaults"):
        _ = ALMAMemory(token_limit=100).block
