"""`ALMAMemory` in the chains of langchain-classic, by the one line `memory=ALMAMemory(…)`."""

import asyncio
import contextlib
import logging
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, ConversationBufferMemory
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.load import dumps
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from alma import ALMA, Heuristic
from alma_langchain import ALMACallbackHandler, ALMAMemory, AsyncALMACallbackHandler, tools_succeeded
from scripted import TASK, call, deploy, invoke, only_run, prompt_text, runs, scripted, steps

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")

PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You deploy.\n{alma_memory}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)
colours = pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])


def executor(model: Any, memory: Any, tools: Any = (deploy,), **given: Any) -> AgentExecutor:
    return AgentExecutor(agent=create_tool_calling_agent(model, list(tools), PROMPT), tools=list(tools), memory=memory, **given)


@colours
def test_by_its_one_line_an_executor_learns_a_failure_and_a_success(
    alma: ALMA, caplog: pytest.LogCaptureFixture, is_async: bool
) -> None:
    caplog.set_level(logging.INFO, "alma")

    def learning(*replies: Any) -> AgentExecutor:
        return executor(scripted(*replies), ALMAMemory(alma, agent="dev", evaluator=tools_succeeded))

    with pytest.raises(RuntimeError, match="ImagePullBackOff"):
        invoke(learning(call("deploy", way="rolling")), {"input": TASK}, is_async=is_async)
    result = invoke(learning(call("deploy", way="blue-green"), "As [O1] says."), {"input": TASK}, is_async=is_async)
    assert "ImagePullBackOff" in result["alma_memory"]
    assert steps(alma) == [
        ('deploy(way="rolling")', False, "RuntimeError: ImagePullBackOff"),
        ('deploy(way="blue-green")', True, None),
    ]
    assert sorted(outcome for _, outcome in runs(alma)) == ["failure", "success"]
    (second,) = [run for run in alma.recent_episodes() if run.outcome == "success"]
    assert [shown.used for shown in second.shown if shown.tag == "O1"] == [True]
    assert {run.task for run in alma.recent_episodes()} == {TASK}
    assert [record.message for record in caplog.records if record.message.startswith("run of")] == [
        "run of dev: retrieved 0, cited none, learned 1 failure, 1 step, failure",
        "run of dev: retrieved 1, cited O1, learned no step, 1 step, success",
    ]


@colours
@pytest.mark.parametrize("handler", [ALMACallbackHandler, AsyncALMACallbackHandler, "the memory's own", "of another agent"])
def test_with_a_handler_besides_everything_is_still_recorded_once(alma: ALMA, is_async: bool, handler: Any) -> None:
    memory = ALMAMemory(alma, agent="dev")
    made = {
        "the memory's own": memory.async_callback_handler if is_async else memory.callback_handler,
        "of another agent": lambda: ALMACallbackHandler(alma, agent="ops"),
    }.get(handler, lambda: handler(alma, agent="dev"))()
    agent = executor(scripted(call("deploy", way="blue-green"), "Done."), memory)
    invoke(agent, {"input": TASK}, is_async=is_async, config={"callbacks": [made]})
    agents = ["dev", "ops"] if handler == "of another agent" else ["dev"]
    assert sorted(runs(alma)) == [(name, "unverified") for name in agents]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)] * len(agents)
    assert memory.errors == made.errors == []


@colours
def test_without_memory_a_handler_given_to_the_executor_or_to_its_run_learns_what_a_tool_raised(
    alma: ALMA, is_async: bool
) -> None:
    handler = (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, agent="dev")
    prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
    model = scripted(call("deploy", way="rolling"))
    made = {"agent": create_tool_calling_agent(model, [deploy], prompt), "tools": [deploy]}
    for agent, callbacks in ((AgentExecutor(**made, callbacks=[handler]), []), (AgentExecutor(**made), [handler])):
        with pytest.raises(RuntimeError, match="ImagePullBackOff"):
            invoke(agent, {"input": TASK}, is_async=is_async, config={"callbacks": callbacks})
    assert runs(alma) == [("dev", "failure")] * 2
    assert steps(alma) == [('deploy(way="rolling")', False, "RuntimeError: ImagePullBackOff")] * 2
    assert not handler.errors


@colours
def test_many_runs_at_once_share_one_memory_and_each_is_of_its_user(alma: ALMA, is_async: bool) -> None:
    user = ContextVar[str]("user")
    for number in range(4):
        alma.add_user_preference(f"user {number}", "tone", f"the wish of user {number}")
    memory = ALMAMemory(alma, agent="dev", on_error="raise", user_id=lambda run: user.get(), lock_timeout=60)
    agent = executor(scripted(call("deploy", way="blue-green"), "As [P1] says."), memory)
    given = [(f"job {number}", f"user {number % 4}") for number in range(32)]

    def one(job: tuple[str, str]) -> Any:
        user.set(job[1])
        return agent.invoke({"input": job[0]})

    async def all_at_once() -> list[Any]:
        async def one(job: tuple[str, str]) -> Any:
            user.set(job[1])
            return await agent.ainvoke({"input": job[0]})

        return await asyncio.gather(*map(one, given))

    with ThreadPoolExecutor(16) as pool:
        results = asyncio.run(all_at_once()) if is_async else list(pool.map(one, given))
    assert [f"the wish of {whose}" in result["alma_memory"] for result, (_, whose) in zip(results, given, strict=True)] == [
        True
    ] * 32
    assert [result["alma_memory"].count("the wish of") for result in results] == [1] * 32
    records = alma.recent_episodes(1000)
    assert sorted((run.task, run.user_id) for run in records) == sorted(given)
    assert {(len(run.steps), len(run.used or ())) for run in records} == {(1, 1)}
    assert memory.recorder.live == 0


@colours
def test_a_tool_that_does_not_exist_is_a_failed_step(alma: ALMA, is_async: bool) -> None:
    agent = executor(scripted(call("teleport", to="moon"), "I give up."), ALMAMemory(alma, agent="dev"))
    invoke(agent, {"input": TASK}, is_async=is_async)
    ((_, ok, error),) = steps(alma)
    assert ok is False
    assert "teleport is not a valid tool" in error


@colours
def test_an_error_of_the_model_and_a_limit_of_iterations_are_no_success(alma: ALMA, is_async: bool) -> None:
    def refuse(messages: Any) -> Any:
        raise ValueError("overloaded")

    with pytest.raises(ValueError, match="overloaded"):
        invoke(executor(scripted(refuse), ALMAMemory(alma, agent="dev")), {"input": TASK}, is_async=is_async)
    limited = executor(scripted(call("deploy", way="blue-green")), ALMAMemory(alma, agent="dev"), max_iterations=2)
    result = invoke(limited, {"input": TASK}, is_async=is_async)
    assert "max iterations" in result["output"]
    assert sorted(outcome for _, outcome in runs(alma)) == ["failure", "unverified"]


@colours
def test_a_stream_that_is_given_up_is_no_failure(alma: ALMA, is_async: bool) -> None:
    memory = ALMAMemory(alma, agent="dev")
    agent = executor(scripted(call("deploy", way="blue-green"), call("deploy", way="canary"), "Done."), memory)

    async def give_up() -> None:
        async with contextlib.aclosing(agent.astream({"input": TASK})) as parts:
            async for part in parts:
                if "steps" in part:
                    break

    if is_async:
        asyncio.run(give_up())
    else:
        with contextlib.closing(agent.stream({"input": TASK})) as parts:
            next(part for part in parts if "steps" in part)
    assert runs(alma) == [("dev", "abandoned")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]
    assert (alma.list_memories(), memory.errors, memory.recorder.live) == ([], [], 0)


def test_a_run_that_is_cancelled_is_no_failure(alma: ALMA) -> None:
    entered = asyncio.Event()

    @tool
    async def wait() -> str:
        """Waits for ever."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    memory = ALMAMemory(alma, agent="dev")
    agent = executor(scripted(call("wait")), memory, [wait])

    async def cancel() -> None:
        running = asyncio.create_task(agent.ainvoke({"input": TASK}))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert (runs(alma), alma.list_memories(), memory.errors, memory.recorder.live) == ([("dev", "abandoned")], [], [], 0)


@colours
def test_a_chain_of_one_prompt_learns(alma: ALMA, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    prompt = PromptTemplate.from_template("{alma_memory}\n{input}")
    chain = LLMChain(llm=scripted("As [H1] says."), prompt=prompt, memory=ALMAMemory(alma, agent="dev"))
    assert "blue-green" in invoke(chain, {"input": TASK}, is_async=is_async)["alma_memory"]
    record = only_run(alma)
    assert (record.task, record.outcome, [shown.used for shown in record.shown]) == (TASK, "unverified", [True])


@colours
def test_a_conversation_takes_it_under_the_key_that_it_wants(alma: ALMA, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    model = scripted("As [H1] says.")
    chain = ConversationChain(llm=model, memory=ALMAMemory(alma, agent="dev", memory_key="history"))
    invoke(chain, {"input": TASK}, is_async=is_async)
    assert "blue-green" in str(model.prompts[0])
    assert [shown.used for shown in only_run(alma).shown] == [True]


@colours
def test_beside_a_buffer_each_does_its_own(alma: ALMA, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    both = CombinedMemory(
        memories=[ConversationBufferMemory(memory_key="history", input_key="input"), ALMAMemory(alma, agent="dev")]
    )
    prompt = PromptTemplate.from_template("{alma_memory}\n{history}\n{input}")
    chain = LLMChain(llm=scripted("As [H1] says."), prompt=prompt, memory=both)
    invoke(chain, {"input": TASK}, is_async=is_async)
    result = invoke(chain, {"input": "And now?"}, is_async=is_async)
    assert "Human: Deploy auth service" in result["history"]
    assert sorted(run.task for run in alma.recent_episodes()) == ["And now?", TASK]
    assert not any("ALMA" in memory.text for memory in alma.list_memories())


@colours
def test_of_several_inputs_one_has_to_be_named_as_the_task(alma: ALMA, is_async: bool) -> None:
    prompt = PromptTemplate.from_template("{alma_memory}\n{role}\n{question}")
    given = {"role": "an operator", "question": TASK}
    chain = LLMChain(llm=scripted("Done."), prompt=prompt, memory=ALMAMemory(alma, agent="dev"))
    with pytest.raises(ValueError, match="input_key"):
        invoke(chain, given, is_async=is_async)
    chain = LLMChain(llm=scripted("Done."), prompt=prompt, memory=ALMAMemory(alma, agent="dev", input_key="question"))
    invoke(chain, given, is_async=is_async)
    assert only_run(alma).task == TASK


@pytest.mark.parametrize(("output_key", "answer", "used"), [("said", "As [H1] says.", True), ("thought", "Hm.", None)])
def test_of_several_outputs_one_may_be_named_as_the_answer(alma: ALMA, output_key: str, answer: str, used: bool | None) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    answers: list[str] = []
    memory = ALMAMemory(alma, agent="dev", output_key=output_key, evaluator=lambda run: answers.append(run.answer))
    shown = memory.load_memory_variables({"input": TASK})
    memory.save_context({"input": TASK, **shown}, {"thought": "Hm.", "said": "As [H1] says."})
    assert answers == [answer]
    assert [exposure.used for exposure in only_run(alma).shown] == [used]


@colours
@pytest.mark.parametrize("return_docs", [False, True])
def test_what_had_no_room_was_not_shown_and_documents_need_none(alma: ALMA, return_docs: bool, is_async: bool) -> None:
    for number in range(5):
        alma.add_heuristic("dev", f"{TASK} {number}", f"way {number} " + "at length " * 30)
    memory = ALMAMemory(alma, agent="dev", max_tokens=250, return_docs=return_docs)
    model = scripted("As [H1] and [H5] say.")
    invoke(executor(model, memory), {"input": TASK}, is_async=is_async)
    shown = {exposure.tag: exposure.used for exposure in only_run(alma).shown}
    assert shown == {"H1": True, "H2": False, **({"H3": False, "H4": False, "H5": True} if return_docs else {})}
    assert prompt_text(model.prompts[0]).count(": way ") == len(shown)


def test_it_may_show_documents(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    memory = ALMAMemory(alma, agent="dev", return_docs=True)
    shown = memory.load_memory_variables({"input": TASK})["alma_memory"]
    assert [document.id for document in shown] == [rule.id]
    memory.save_context({"input": TASK, "alma_memory": shown}, {"output": "Done."})
    assert only_run(alma).outcome == "unverified"


def test_a_run_that_no_callback_told_of_is_recorded_and_said_so_once(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    memory = ALMAMemory(alma, agent="dev")
    with caplog.at_level(logging.WARNING, "alma"):
        for _ in range(2):
            shown = memory.load_memory_variables({"input": TASK})
            memory.save_context({"input": TASK, **shown}, {"output": "Done."})
    assert runs(alma) == [("dev", "unverified")] * 2
    assert [record.message for record in caplog.records] == [
        "no callback reported this run's steps; add callbacks=[memory.callback_handler()] to the chain"
    ]


@colours
@pytest.mark.parametrize("with_handler", [True, False])
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("model", [scripted("As [H1] says."), FakeListLLM(responses=["As [H1] says."])], ids=["chat", "text"])
def test_notes_that_the_prompt_does_not_name_are_missed_and_nothing_of_them_counts_as_used(
    alma: ALMA, caplog: pytest.LogCaptureFixture, model: Any, is_named: bool, with_handler: bool, is_async: bool
) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    prompt = PromptTemplate.from_template("{alma_memory}\n{input}" if is_named else "{input}")
    memory = ALMAMemory(alma, agent="dev", input_key="input")
    handler = memory.async_callback_handler() if is_async else memory.callback_handler()
    config = {"callbacks": [handler] if with_handler else []}
    invoke(LLMChain(llm=model, prompt=prompt, memory=memory), {"input": TASK}, is_async=is_async, config=config)
    assert [shown.used for shown in only_run(alma).shown] == [True if is_named else None]
    missed = "the notes did not reach the model; name them in the prompt, as {alma_memory}"
    assert [record.message for record in caplog.records] == ([] if is_named else [missed])


def test_looking_alone_records_nothing(alma: ALMA) -> None:
    assert ALMAMemory(alma, agent="dev").load_memory_variables({"input": TASK}) == {"alma_memory": ""}
    assert runs(alma) == []


def test_clearing_forgets_nothing_unless_that_is_allowed(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    other = alma.add_heuristic("ops", TASK, "by hand")
    ALMAMemory(alma, agent="dev").clear()
    assert "forgot nothing" in caplog.text
    assert len(alma.list_memories()) == 2
    ALMAMemory(alma, agent="dev", allow_clear=True).clear()
    assert [memory.id for memory in alma.list_memories()] == [other.id]


def test_clearing_forgets_all_however_much_there_is(alma: ALMA) -> None:
    alma.add_many(Heuristic(agent="dev", project_id="shop", condition=f"task {number}", strategy="x") for number in range(1001))
    ALMAMemory(alma, agent="dev", allow_clear=True).clear()
    assert alma.list_memories(agent="dev") == []


@colours
@pytest.mark.parametrize(
    "fails",
    [
        "alma.memory.recall.retrieve.retrieve",
        "alma.memory.episodes.lifecycle.begin",
        "alma.episode.Episode.step",
        "alma.episode.Episode.end",
    ],
)
def test_a_store_that_fails_does_not_change_the_answer_unless_that_is_wanted(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str, is_async: bool
) -> None:
    replies = call("deploy", way="blue-green"), "Done."
    memory, strict = ALMAMemory(alma, agent="dev"), ALMAMemory(alma, agent="dev", on_error="raise")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "alma"):
        patch.setattr(fails, _fail)
        assert invoke(executor(scripted(*replies), memory), {"input": TASK}, is_async=is_async)["output"] == "Done."
        assert {str(error) for error in memory.errors} == {"the disk is full"}
        assert len([record for record in caplog.records if "the disk is full" in record.message]) == 1
        with pytest.raises(OSError, match="the disk is full"):
            invoke(executor(scripted(*replies), strict), {"input": TASK}, is_async=is_async)
    assert memory.recorder.live == strict.recorder.live == 0


@pytest.mark.parametrize("return_docs", [False, True])
def test_a_chain_that_hands_no_notes_on_is_told_of_also_after_an_error(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, return_docs: bool
) -> None:
    memory = ALMAMemory(alma, agent="dev", return_docs=return_docs)
    with monkeypatch.context() as patch:
        patch.setattr("alma.memory.recall.retrieve.retrieve", _fail)
        shown = memory.load_memory_variables({"input": TASK})
    memory.save_context({"input": TASK, **shown}, {"output": "Done."})  # why there are none has been told
    assert "hold no notes" not in caplog.text
    memory.save_context({"input": TASK}, {"output": "Done."})
    assert "hold no notes under 'alma_memory'" in caplog.text


def test_it_is_a_memory_of_langchain_and_shows_nothing_of_its_store(alma: ALMA) -> None:
    memory = ALMAMemory(alma, agent="dev")
    assert isinstance(memory, BaseMemory)
    for text in (repr(memory), str(memory), dumps(memory), memory.model_dump_json()):
        assert "store" not in text.replace("open store", "")
        assert "ALMA project" not in text
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(memory)
    shown = memory.load_memory_variables({"input": TASK})
    assert type(pickle.loads(pickle.dumps(shown))["alma_memory"]) is str


def _fail(*given: Any, **named: Any) -> Any:
    raise OSError("the disk is full")


@colours
def test_a_chain_that_is_called_while_a_stream_is_read_is_not_recorded(alma: ALMA, is_async: bool) -> None:
    handler = (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, agent="dev")
    followed, other = create_agent(scripted("Done."), []), RunnableLambda(str.strip)
    given, config = {"messages": [("user", TASK)]}, {"callbacks": [handler]}

    async def read() -> None:
        async for _ in followed.astream(given, config):
            await other.ainvoke("something else")

    if is_async:
        asyncio.run(read())
    else:
        for _ in followed.stream(given, config):
            other.invoke("something else")
    assert [run.task for run in alma.recent_episodes()] == [TASK]
    assert len(handler.tree) == 0
