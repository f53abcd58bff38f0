"""A recorded workflow is called as `run` is, and returns the handler of the workflow."""

import asyncio
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import (
    Context,
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from workflows.errors import WorkflowCancelledByUser
from workflows.handler import WorkflowHandler

from alma import ALMA
from alma_llamaindex import recorded
from llama_runs import TASK, episodes, steps


class Progress(Event):
    """One line for the user."""

    text: str


class Report(StopEvent):
    """A typed end."""

    text: str

    def __str__(self) -> str:
        return self.text


def deploy(way: str) -> str:
    """Deploys."""
    return f"live by {way}"


DEPLOY = FunctionTool.from_defaults(deploy)


class Telling(Workflow):
    """Streams what it does."""

    @step
    async def work(self, ctx: Context, event: StartEvent) -> StopEvent:
        for text in ("one", "two"):
            ctx.write_event_to_stream(Progress(text=text))
        await ctx.store.set("count", 2)
        return StopEvent(result=(await DEPLOY.acall(way="canary")).content)


class Typed(Workflow):
    @step
    async def work(self, event: StartEvent) -> Report:
        return Report(text="It is live.")


class Waiting(Workflow):
    @step
    async def ask(self, event: StartEvent) -> InputRequiredEvent:
        return InputRequiredEvent(prefix="sure?")

    @step
    async def act(self, event: HumanResponseEvent) -> StopEvent:
        return StopEvent(result=f"said {event.response}")


class Endless(Workflow):
    @step
    async def work(self, event: StartEvent) -> StopEvent:
        await asyncio.sleep(3600)
        raise AssertionError


class Broken(Workflow):
    @step
    async def work(self, event: StartEvent) -> StopEvent:
        raise LookupError("no such service")


def test_its_events_can_be_streamed(alma: ALMA) -> None:
    run = recorded(Telling(), alma, agent="dev", evaluator=lambda run: "live" in run.answer)

    async def main() -> tuple[list[str], Any, Any]:
        handler = run(task=TASK)
        assert isinstance(handler, WorkflowHandler)
        texts = [event.text async for event in handler.stream_events() if isinstance(event, Progress)]
        return texts, await handler, await handler.ctx.store.get("count")

    assert asyncio.run(main()) == (["one", "two"], "live by canary", 2)
    [record] = episodes(alma)
    assert (record.task, record.outcome, steps(record)) == (TASK, "success", [("deploy", True, None)])


def test_a_stream_that_nobody_awaits_is_recorded(alma: ALMA) -> None:
    async def main() -> None:
        async for _ in recorded(Telling(), alma, agent="dev")(task=TASK).stream_events():
            pass
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [len(record.steps) for record in episodes(alma)] == [1]


def test_a_typed_end_is_the_answer(alma: ALMA) -> None:
    answers: list[str] = []

    async def main() -> Any:
        return await recorded(Typed(), alma, agent="dev", evaluator=lambda run: answers.append(run.answer))(task=TASK)

    assert asyncio.run(main()).text == "It is live."
    assert [record.task for record in episodes(alma)] == [TASK]
    assert answers == ["It is live."]


def test_a_person_answers_through_it(alma: ALMA) -> None:
    async def main() -> Any:
        handler = recorded(Waiting(), alma, agent="dev")(task=TASK)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                await handler.send_event(HumanResponseEvent(response="yes"))
        return await handler

    assert asyncio.run(main()) == "said yes"
    assert [record.outcome for record in episodes(alma)] == ["unverified"]


def test_cancelling_it_is_neutral_and_an_error_is_a_failure(alma: ALMA) -> None:
    async def main() -> None:
        handler = recorded(Endless(), alma, agent="dev")(task="Wait")
        await asyncio.sleep(0)
        await handler.cancel_run()
        with pytest.raises(WorkflowCancelledByUser):
            await handler
        with pytest.raises(LookupError):
            await recorded(Broken(), alma, agent="dev")(task=TASK)

    asyncio.run(main())
    assert {record.task: (record.outcome or record.status).value for record in episodes(alma)} == {
        "Wait": "abandoned",
        TASK: "failure",
    }


def test_several_at_once_keep_apart_and_are_shown_notes(alma: ALMA) -> None:
    alma.add_heuristic("dev", "Deploy auth", "blue-green")

    class Noted(Workflow):
        @step
        async def work(self, event: StartEvent) -> StopEvent:
            await asyncio.sleep(0)
            await DEPLOY.acall(way=event.task)
            return StopEvent(result=event.get("notes", ""))

    async def main() -> list[Any]:
        run = recorded(Noted(), alma, agent="dev", notes="notes")
        return await asyncio.gather(*(run(task=f"Deploy {name}") for name in ("auth", "billing", "mail")))

    assert "blue-green" in asyncio.run(main())[0]
    assert {record.task: len(record.steps) for record in episodes(alma)} == {
        "Deploy auth": 1,
        "Deploy billing": 1,
        "Deploy mail": 1,
    }


def test_what_cannot_start_is_a_failure(alma: ALMA) -> None:
    class Strict(StartEvent):
        way: str

    class Needs(Workflow):
        @step
        async def work(self, event: Strict) -> StopEvent:
            return StopEvent(result=event.way)

    async def main() -> None:
        with pytest.raises(Exception, match="start event"):
            await recorded(Needs(), alma, agent="dev", task=TASK)()

    asyncio.run(main())
    assert [record.outcome for record in episodes(alma)] == ["failure"]
