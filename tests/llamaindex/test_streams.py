"""Answers that are streamed: judged when they were read to the end, and on the whole of what was read."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.query_engine import RetrieverQueryEngine

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMARetriever, RunView
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import TASK, episodes


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    alma.add_heuristic("dev", TASK, "blue-green")
    return alma


def engine_of(alma: ALMA, answer: Any = "blue-green, see [H1]") -> RetrieverQueryEngine:
    retriever = ALMARetriever(alma, "dev", kinds=["heuristic"], with_tags=True)
    return RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM([answer]), streaming=True)


def learner_of(alma: ALMA) -> ALMALearner:
    return ALMALearner(alma, query_engines=True, evaluator=lambda run: "blue-green" in run.answer)


async def read_in_a_loop(engine: RetrieverQueryEngine) -> str:
    response = await engine.aquery(TASK)
    return "".join([token async for token in response.async_response_gen()])


READINGS = {
    "the generator": lambda engine: "".join(engine.query(TASK).response_gen),
    "str": lambda engine: str(engine.query(TASK)),
    "get_response": lambda engine: str(engine.query(TASK).get_response()),
    "in a loop": lambda engine: asyncio.run(read_in_a_loop(engine)),
}


@pytest.mark.parametrize("how", READINGS)
def test_a_streamed_answer_is_judged_whole_and_its_citations_count(taught: ALMA, how: str) -> None:
    with learner_of(taught) as learner:
        assert READINGS[how](engine_of(taught)) == "blue-green, see [H1]"
    [record] = episodes(taught)
    assert (record.outcome, [exposure.used for exposure in record.shown]) == ("success", [True])
    assert learner.errors == []


def test_a_stream_is_of_the_kind_that_it_is_without_alma(taught: ALMA) -> None:
    """Servers look at that to know how to read it."""
    with learner_of(taught):
        for response in (engine_of(taught).query(TASK), asyncio.run(engine_of(taught).aquery(TASK))):
            stream, is_async = response.response_gen, isinstance(response, AsyncStreamingResponse)
            assert (isinstance(stream, AsyncIterator), isinstance(stream, Iterator)) == (is_async, not is_async)


def test_a_stream_that_nobody_read_is_unverified_when_it_is_collected(taught: ALMA) -> None:
    with learner_of(taught) as learner:
        engine_of(taught).query(TASK)
        gc.collect()
        assert learner.flush()
        assert [record.outcome for record in episodes(taught)] == ["unverified"]


def test_a_stream_that_nobody_has_begun_is_unverified_when_the_learner_is_flushed(taught: ALMA) -> None:
    with learner_of(taught) as learner:
        response = engine_of(taught).query(TASK)
        assert learner.flush()
        assert [record.outcome for record in episodes(taught)] == ["unverified"]
        assert str(response) == "blue-green, see [H1]"
    assert len(episodes(taught)) == 1


class Connection:
    """Tokens that come over a connection, which is closed with their generator."""

    def __init__(self) -> None:
        self.is_closed = False

    def tokens(self) -> Iterator[str]:
        try:
            yield from ("blue", "-green")
        finally:
            self.is_closed = True

    async def atokens(self) -> AsyncIterator[str]:
        try:
            for token in ("blue", "-green"):
                yield token
        finally:
            self.is_closed = True


@pytest.mark.parametrize("is_async", [False, True], ids=["query", "aquery"])
def test_a_stream_that_its_reader_closes_is_closed_as_without_alma_and_unverified(taught: ALMA, is_async: bool) -> None:
    engine, connection = engine_of(taught), Connection()

    async def tokens(**given: Any) -> AsyncIterator[str]:
        return connection.atokens()

    async def read() -> None:
        async with contextlib.aclosing((await engine.aquery(TASK)).response_gen) as stream:
            assert await anext(stream) == "blue"

    engine._response_synthesizer.get_response = lambda **given: connection.tokens()
    engine._response_synthesizer.aget_response = tokens
    with learner_of(taught):
        if is_async:
            asyncio.run(read())
        else:
            with contextlib.closing(engine.query(TASK).response_gen) as stream:
                assert next(stream) == "blue"
        assert connection.is_closed
    assert [record.outcome for record in episodes(taught)] == ["unverified"]


class Breaks:
    def __iter__(self) -> Any:
        yield "blue"
        raise RuntimeError("connection lost")


def test_a_stream_that_breaks_off_is_a_failure_and_its_reader_sees_the_error(taught: ALMA) -> None:
    engine = engine_of(taught)
    engine._response_synthesizer.get_response = lambda **given: iter(Breaks())
    with learner_of(taught), pytest.raises(RuntimeError, match="connection lost"):
        list(engine.query(TASK).response_gen)
    assert [(record.outcome, record.error) for record in episodes(taught)] == [("failure", "RuntimeError: connection lost")]


def test_an_answer_that_is_not_streamed_has_its_tags_taken_out_on_request(taught: ALMA) -> None:
    seen: list[RunView] = []
    retriever = ALMARetriever(taught, "dev", kinds=["heuristic"], with_tags=True, strip_tags=True)
    engine = RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM(["blue-green, see [H1] and [1]"]))
    with ALMALearner(taught, query_engines=True, evaluator=seen.append):
        assert str(engine.query(TASK)) == "blue-green, see and [1]"
    assert [run.cited for run in seen] == [("H1",)]


def test_that_tags_stay_in_a_stream_is_told_once(taught: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    retriever = ALMARetriever(taught, "dev", with_tags=True, strip_tags=True)
    engine = RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM(["see [H1]"] * 2), streaming=True)
    with learner_of(taught):
        assert [str(engine.query(TASK)) for _ in range(2)] == ["see [H1]"] * 2
    assert caplog.text.count("strip_tags does not reach streamed answers") == 1
