"""What leaving a block says, and when two endings contradict each other."""

import asyncio
import concurrent.futures
from typing import Any

import pytest

from alma.episode import Leaving, leaving
from alma.episode.arguments import contradicts
from alma.types.episodes import Ending, EpisodeRecord
from alma.types.identity import EPOCH
from alma.types.kinds import Verdict


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


NEUTRAL = [
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    GeneratorExit(),
    KeyboardInterrupt(),
    SystemExit(1),
    BaseExceptionGroup("several", [asyncio.CancelledError(), BaseExceptionGroup("more", [GeneratorExit()])]),
]

FAILED = [
    (ValueError("no such tag"), "ValueError: no such tag"),
    (TimeoutError(), "TimeoutError"),
    (UnspeakableError(), "UnspeakableError"),
    (ExceptionGroup("two", [ValueError("a")]), "ExceptionGroup: two (1 sub-exception)"),
    (BaseExceptionGroup("mixed", [KeyboardInterrupt(), ValueError("a")]), "BaseExceptionGroup: mixed (2 sub-exceptions)"),
]


def test_a_block_left_by_return_is_unverified() -> None:
    assert leaving(None) == Leaving(Verdict.UNVERIFIED)


@pytest.mark.parametrize("error", NEUTRAL, ids=lambda error: type(error).__name__)
def test_a_block_left_by_cancellation_is_neutral(error: BaseException) -> None:
    assert leaving(error) == Leaving(None)


@pytest.mark.parametrize(("error", "text"), FAILED, ids=lambda value: type(value).__name__)
def test_a_block_left_by_an_error_failed_with_it(error: BaseException, text: str) -> None:
    assert leaving(error) == Leaving(Verdict.FAILURE, text)


def _ended(outcome: Verdict | None, **said: Any) -> EpisodeRecord:
    return EpisodeRecord(id="e", project_id="p", agent="dev", task="t", started_at=EPOCH, ended_at=EPOCH, outcome=outcome, **said)


def _ending(outcome: Verdict | None, **said: Any) -> Ending:
    return Ending(outcome=outcome, at=EPOCH, **said)


def test_an_ending_told_again_contradicts_nothing_also_when_it_says_less() -> None:
    first = _ended(Verdict.FAILURE, strategy="s", error="e", used=("m",))
    assert not contradicts(first, _ending(Verdict.FAILURE, strategy="s", error="e", used=("m",)))
    assert not contradicts(first, _ending(Verdict.FAILURE))
    assert not contradicts(_ended(None, reason="r"), _ending(None, feedback="r"))


def test_another_outcome_or_another_detail_contradicts() -> None:
    first = _ended(Verdict.FAILURE, strategy="s")
    assert contradicts(first, _ending(Verdict.SUCCESS, strategy="s"))
    assert contradicts(first, _ending(None))
    assert contradicts(first, _ending(Verdict.FAILURE, strategy="t"))
    assert contradicts(first, _ending(Verdict.FAILURE, error="new"))
    assert contradicts(first, _ending(Verdict.FAILURE, used=("m",)))
    assert contradicts(_ended(None, reason="r"), _ending(None, feedback="s"))
