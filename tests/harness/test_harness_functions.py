"""`@alma.remembers`: each call of a function is a run."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from alma import ALMA, AsyncALMA, ConfigurationError, ValidationError, Verdict

TASK = "Deploy the auth service"


def endings(alma: ALMA) -> list[Verdict | None]:
    return [episode.outcome for episode in reversed(alma.recent_episodes())]


def test_a_function_is_shown_notes_and_its_exception_is_learned(alma: ALMA) -> None:
    seen: list[str] = []

    @alma.remembers(agent="dev")
    def deploy(task: str, way: str, notes: str = "") -> str:
        """Deploys."""
        seen.append(notes)
        if way == "rolling":
            raise RuntimeError("502 bad gateway")
        return f"live by {way}"

    with pytest.raises(RuntimeError, match="502"):
        deploy(TASK, way="rolling")
    assert deploy(TASK, "blue-green") == "live by blue-green"

    assert (deploy.__name__, deploy.__doc__) == ("deploy", "Deploys.")
    assert not seen[0]
    assert 'deploy(way="rolling")' in seen[1]
    assert sorted(map(str, endings(alma))) == ["failure", "unverified"]
    assert 'deploy(way="blue-green")' in {episode.strategy for episode in alma.recent_episodes()}


def test_a_function_of_its_task_alone_is_no_step(alma: ALMA) -> None:
    @alma.remembers(agent="dev", evaluator=lambda run: run.answer == "done")
    def agent(question: str, notes: str) -> str:
        return "done"

    agent(TASK)

    (episode,) = alma.recent_episodes()
    assert (episode.task, episode.outcome, episode.steps) == (TASK, Verdict.SUCCESS, ())


def test_notes_that_the_caller_gives_are_left_alone(alma: ALMA) -> None:
    @alma.remembers(agent="dev")
    def agent(task: str, notes: str) -> str:
        return notes

    assert agent(TASK, "mine") == agent(TASK, notes="mine") == "mine"


def test_a_coroutine_function_and_streams(alma: ALMA) -> None:
    remembers = alma.remembers(agent="dev", evaluator=lambda run: run.answer == "It is live.")

    @remembers
    async def agent(task: str) -> str:
        return "It is live."

    @remembers
    def stream(task: str) -> Iterator[str]:
        got = yield "It is "
        yield got or "live."

    @remembers
    async def astream(task: str) -> AsyncIterator[str]:
        yield "It is "
        yield "live."

    async def read() -> None:
        assert await agent(TASK) == "It is live."
        assert [chunk async for chunk in astream(TASK)] == ["It is ", "live."]

    asyncio.run(read())
    assert list(stream(TASK)) == ["It is ", "live."]
    sending = stream(TASK)
    assert (next(sending), sending.send("down.")) == ("It is ", "down.")  # type: ignore[attr-defined]  # a generator
    assert list(sending) == []

    assert sorted(map(str, endings(alma))) == ["failure", "success", "success", "success"]


def test_what_is_no_verdict(alma: ALMA) -> None:
    has_begun = asyncio.Event()

    @alma.remembers(agent="dev")
    async def slow(task: str) -> None:
        has_begun.set()
        await asyncio.Event().wait()

    @alma.remembers(agent="dev")
    def stream(task: str) -> Iterator[str]:
        yield from ("a", "b")

    async def cancel() -> None:
        running = asyncio.create_task(slow(TASK))
        await has_begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    left = stream(TASK)
    next(left)
    left.close()  # type: ignore[attr-defined]  # a generator

    assert endings(alma) == [None, None]


def test_user_and_task_come_from_the_arguments(alma: ALMA) -> None:
    @alma.remembers(agent="dev", task=lambda order, user_id: f"Refund order {order['id']}")
    def refund(order: dict[str, int], user_id: str) -> None: ...

    @alma.remembers(agent="dev", task="what")
    def other(where: str, what: str) -> None: ...

    refund({"id": 7}, "ann")
    other("here", "Sweep")

    found = {(episode.task, episode.user_id) for episode in alma.recent_episodes()}
    assert found == {("Refund order 7", "ann"), ("Sweep", None)}


def test_methods_can_be_decorated(alma: ALMA) -> None:
    class Worker:
        @alma.remembers(agent="dev")
        def run(self, task: str) -> str:
            return f"did {task}"

    assert Worker().run("Sweep") == "did Sweep"
    assert [episode.task for episode in alma.recent_episodes()] == ["Sweep"]


def test_a_wrong_call_is_the_functions_own_error_and_no_run(alma: ALMA) -> None:
    @alma.remembers(agent="dev")
    def agent(task: str) -> None: ...

    with pytest.raises(TypeError):
        agent(TASK, "too", "many")  # type: ignore[call-arg]  # it is wrong
    assert not alma.recent_episodes()


def test_asynchronous_memories_decorate_too(alma: ALMA) -> None:
    async def work() -> None:
        mirror = AsyncALMA(alma)

        @mirror.remembers(agent="dev")
        async def agent(task: str, notes: str) -> str:
            return "done"

        assert await agent(TASK) == "done"  # type: ignore[call-arg]  # the notes are filled in

    asyncio.run(work())
    assert endings(alma) == [Verdict.UNVERIFIED]


def test_invalid_arguments_are_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="did you mean evaluator"):
        alma.remembers(agent="dev", evaluater=bool)
    with pytest.raises(ConfigurationError, match="task must be"):
        alma.remembers(agent="dev", task=3)  # type: ignore[arg-type]  # it is invalid
    with pytest.raises(ConfigurationError, match="no parameter 'what'"):
        alma.remembers(agent="dev", task="what")(lambda task: None)
    with pytest.raises(ConfigurationError, match="decorates a function"):
        alma.remembers(agent="dev")("agent")  # type: ignore[type-var]  # it is invalid
    with pytest.raises(ValidationError, match="gave no name"):
        alma.remembers()(lambda task: None)("Sweep")
