"""Every way of ending an episode, and exactly what is kept of it."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from alma import ALMA, ConflictError, Episode, StorageError
from alma.storage.sqlite.connections import STATEMENTS
from alma.types import EpisodeStatus
from attempts import Counts, counts, outcomes, told
from facade import ManualClock, held

TASK = "Deploy auth service"
STEP = ("failure", "kubectl apply", "no such image")


def _returned(episode: Episode) -> None:
    with episode:
        pass


def _ended(name: str, *given: Any, **named: Any) -> Callable[[Episode], None]:
    def end(episode: Episode) -> None:
        with episode:
            getattr(episode, name)(*given, **named)

    return end


def _raised(error: BaseException) -> Callable[[Episode], None]:
    def leave(episode: Episode) -> None:
        with pytest.raises(type(error)) as caught, episode:
            raise error
        assert caught.value is error

    return leave


def _task_cancelled(episode: Episode) -> None:
    async def work() -> None:
        with episode:
            await asyncio.get_running_loop().create_future()

    async def cancel() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def _generator_closed(episode: Episode) -> None:
    def work() -> Iterator[None]:
        with episode:
            yield

    generator = work()
    next(generator)
    generator.close()  # type: ignore[attr-defined] # it is a generator


def _twice_alike(episode: Episode) -> None:
    with episode:
        first = episode.fail("broken", strategy="by hand")
        assert episode.fail("broken", strategy="by hand") == episode.fail() == first
    assert episode.end("failure") == first


def _twice_abandoned(episode: Episode) -> None:
    with episode:
        assert episode.abandon("changed my mind") == episode.abandon()


def _twice_differently(episode: Episode) -> None:
    with episode:
        episode.succeed(strategy="by hand")
        for again in (
            lambda: episode.fail("broken"),
            episode.end,
            episode.abandon,
            lambda: episode.succeed(strategy="otherwise"),
            lambda: episode.succeed(feedback="more to say"),
        ):
            with pytest.raises(ConflictError, match="settle"):
                again()


def _verdict_then_error(episode: Episode) -> None:
    def work() -> None:
        with episode:
            episode.succeed(strategy="by hand")
            raise ValueError("afterwards")

    with pytest.raises(ValueError, match="afterwards"):
        work()


def _without_a_block(episode: Episode) -> None:
    episode.partial("by hand", error="half", feedback="so so")


@dataclass(frozen=True)
class Kept:
    """What is told of an episode, and what its own memory tells."""

    status: str
    outcome: str | None
    said: dict[str, str]
    memory: tuple[str, str, str | None] | None


def _failed(text: str) -> Kept:
    return Kept("ended", "failure", {"error": text}, ("failure", "", text))


UNVERIFIED = Kept("ended", "unverified", {}, ("unverified", "", None))
ABANDONED = Kept("abandoned", None, {}, None)
BY_HAND = Kept("ended", "success", {"strategy": "by hand"}, ("success", "by hand", None))

WAYS: dict[str, tuple[Callable[[Episode], None], Kept]] = {
    "return": (_returned, UNVERIFIED),
    "end()": (_ended("end"), UNVERIFIED),
    "succeed": (_ended("succeed", strategy="by hand"), BY_HAND),
    "succeed without words": (_ended("succeed"), Kept("ended", "success", {}, ("success", "", None))),
    "end('Success')": (_ended("end", " Success ", strategy="by hand"), BY_HAND),
    "end(True)": (_ended("end", True, strategy="by hand"), BY_HAND),
    "fail": (
        _ended("fail", error="broken", strategy="by hand"),
        Kept("ended", "failure", {"error": "broken", "strategy": "by hand"}, ("failure", "by hand", "broken")),
    ),
    "partial": (
        _without_a_block,
        Kept(
            "ended",
            "partial",
            {"strategy": "by hand", "error": "half", "feedback": "so so"},
            ("partial", "by hand", "half"),
        ),
    ),
    "abandon": (_ended("abandon"), ABANDONED),
    "abandon with a reason": (_ended("abandon", "no time"), Kept("abandoned", None, {"reason": "no time"}, None)),
    "exception": (_raised(ValueError("no such tag")), _failed("ValueError: no such tag")),
    "exception without words": (_raised(TimeoutError()), _failed("TimeoutError")),
    "group of exceptions": (_raised(ExceptionGroup("two", [OSError()])), _failed("ExceptionGroup: two (1 sub-exception)")),
    "cancellation": (_raised(asyncio.CancelledError()), ABANDONED),
    "a cancelled task": (_task_cancelled, ABANDONED),
    "a closed generator": (_generator_closed, ABANDONED),
    "keyboard interrupt": (_raised(KeyboardInterrupt()), ABANDONED),
    "exit of the process": (_raised(SystemExit(1)), ABANDONED),
    "twice alike": (
        _twice_alike,
        Kept("ended", "failure", {"error": "broken", "strategy": "by hand"}, ("failure", "by hand", "broken")),
    ),
    "abandoned twice": (_twice_abandoned, Kept("abandoned", None, {"reason": "changed my mind"}, None)),
    "twice differently": (_twice_differently, BY_HAND),
    "an exception after the verdict": (_verdict_then_error, BY_HAND),
}


def check_not_held(alma: ALMA, episode_id: str) -> None:
    """Fails unless an episode that was ended cannot be resumed because of its end: one that a program holds is refused for that."""
    with pytest.raises(ConflictError, match=r"cannot be resumed: it (ended as|was abandoned)"):
        alma.resume_episode(episode_id)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_ending_keeps_exactly_what_it_says(alma: ALMA, clock: ManualClock, way: str) -> None:
    leave, kept = WAYS[way]
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    episode = alma.episode("dev", TASK)
    episode.step("kubectl apply", ok=False, error="no such image")
    episode.observe("[H1]")
    clock.advance(minutes=1)
    before = held(alma)["journal_records"]
    leave(episode)

    record = alma.get_episode(episode.id)
    assert (record.status, record.outcome, record.ended_at) == (kept.status, kept.outcome, clock.now)
    said = {name: value for name in ("strategy", "error", "feedback", "reason") if (value := getattr(record, name)) is not None}
    assert said == kept.said
    assert [step.action for step in record.steps] == ["kubectl apply"]
    assert told(outcomes(alma, TASK, "dev")) == [STEP, *([kept.memory] if kept.memory else [])]
    assert (record.outcome_id is None) == (kept.memory is None)
    assert counts(alma, rule.id) == (Counts(1, 0) if kept.memory else Counts(0, 0))
    assert record.used == (rule.id,)
    assert held(alma)["journal_records"] == before + 1
    check_not_held(alma, episode.id)
    assert alma.verify().ok


def test_after_the_end_nothing_more_is_taken(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        episode.succeed()
        for late in (lambda: episode.step("a"), lambda: episode.observe("[H1]"), lambda: episode.used([])):
            with pytest.raises(ConflictError, match="not open any more: success"):
                late()
    assert not episode.is_open


def test_an_end_that_cannot_be_written_hides_no_error_of_the_block(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    def work() -> None:
        with alma.episode("dev", TASK):
            alma.close()
            raise ValueError("my own")

    with pytest.raises(ValueError, match="my own"):
        work()
    (line,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "was not recorded" in line.getMessage()


def test_an_end_that_cannot_be_written_is_told_where_there_is_no_other_error(alma: ALMA) -> None:
    with pytest.raises(StorageError, match="closed"), alma.episode("dev", TASK):
        alma.close()


@pytest.mark.not_on("file", "postgres", reason="breaks one of SQLite's statements")
def test_an_end_that_failed_can_be_told_again(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = alma.episode("dev", TASK)
    before = held(alma)
    with monkeypatch.context() as broken:
        broken.setitem(STATEMENTS, "journal_insert", "INSERT INTO nothing VALUES (1)")
        with pytest.raises(StorageError):
            episode.succeed(strategy="by hand")
    assert held(alma) == before
    assert alma.get_episode(episode.id).status == EpisodeStatus.OPEN
    episode.fail("broken")
    assert told(outcomes(alma, TASK, "dev")) == [("failure", "", "broken")]


@pytest.mark.not_on("file", "postgres", reason="breaks one of SQLite's statements")
def test_a_step_that_failed_to_be_kept_can_be_told_again_under_its_number(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = alma.episode("dev", TASK)
    with monkeypatch.context() as broken:
        broken.setitem(STATEMENTS, "journal_insert", "INSERT INTO nothing VALUES (1)")
        with suppress(StorageError):
            episode.step("pull", ok=False, error="lost")
    assert alma.get_episode(episode.id).steps == episode.steps == ()
    assert episode.step("pull", ok=False, error="lost").number == 1
    assert told(outcomes(alma, TASK, "dev")) == [("failure", "pull", "lost")]


@pytest.mark.parametrize("way", ["step", "succeed", "suspend"])
def test_an_episode_whose_beginning_was_undone_is_no_longer_open(alma: ALMA, way: str) -> None:
    episode = alma.episode(agent="dev", task=TASK)
    alma.undo(0)
    ways: dict[str, Callable[[], object]] = {
        "step": lambda: episode.step("deploy", ok=True),
        "succeed": episode.succeed,
        "suspend": episode.suspend,
    }
    with pytest.raises(ConflictError, match="is no longer open: its beginning was undone"):
        ways[way]()


def test_an_episode_whose_resumption_was_undone_can_be_ended_all_the_same(alma: ALMA) -> None:
    episode = alma.episode("dev", TASK)
    episode.suspend()
    before = held(alma)["journal_records"]
    resumed = alma.resume_episode(episode.id)
    alma.undo(before)
    assert resumed.succeed().outcome == "success"
    check_not_held(alma, episode.id)
    assert alma.verify().ok
