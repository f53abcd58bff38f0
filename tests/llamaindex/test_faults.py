"""What fails beside an agent reaches no agent, and is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from alma import ALMA, StorageError
from alma.types import EpisodeStatus
from alma_llamaindex import ALMALearner
from llama_runs import BOOM, OK, OK_THEN_BAD, TASK, agent_of, episodes, memory_of, run, steps


@pytest.mark.parametrize("method", ["episode", "end"])
def test_a_store_that_is_locked_reaches_no_agent_and_is_told_once(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    def locked(*args: object, **given: object) -> None:
        raise StorageError("the database is locked")

    if method == "episode":
        monkeypatch.setattr(alma, "episode", locked)
    else:
        monkeypatch.setattr("alma.episode.Episode.end", locked)
    memory = memory_of(alma)
    assert str(run(agent_of(OK_THEN_BAD), memory)) == "done"
    assert memory.learner.flush()
    assert [str(error) for error in memory.learner.errors] == ["the database is locked"]
    assert caplog.text.count("the database is locked") == 1


def test_a_store_that_another_connection_holds_keeps_no_agent_waiting(alma: ALMA, tmp_path: Path) -> None:
    memory = memory_of(alma)
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert str(run(agent_of(OK_THEN_BAD), memory)) == "done"
        assert holder.execute("SELECT count(*) FROM record").fetchone() == (0,)
        holder.execute("ROLLBACK")
    assert [steps(record) for record in episodes(alma)] == [[OK, BOOM]]
    assert memory.learner.errors == []


def test_when_too_much_waits_steps_are_left_out_and_the_end_is_kept(alma: ALMA) -> None:
    with ALMALearner(alma, waiting=0) as learner:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
    (record,) = episodes(alma)
    assert (record.steps, record.status) == ((), EpisodeStatus.ENDED)
    assert [str(error) for error in learner.errors] == [
        "too much is waiting to be written; a step of 'dev' was left out: ok",
        "too much is waiting to be written; a step of 'dev' was left out: bad",
    ]


def test_when_too_much_waits_what_was_cited_is_told_to_be_left_out(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    with ALMALearner(alma, waiting=0) as learner:
        run(agent_of(["As [H1] says"]), memory_of(alma))
    assert [record.used for record in episodes(alma)] == [None]
    assert {str(error) for error in learner.errors} == {"too much is waiting to be written; what 'dev' cited was left out"}


@pytest.mark.parametrize(("what", "steps_kept"), [("action", 0), ("strategy", 2)])
def test_words_that_cannot_be_said_reach_no_agent_and_are_told(alma: ALMA, what: str, steps_kept: int) -> None:
    def speechless(*given: object) -> str:
        raise LookupError("no words")

    with ALMALearner(alma, **{what: speechless}) as learner:
        assert str(run(agent_of(OK_THEN_BAD), memory_of(alma))) == "done"
    assert [(len(record.steps), record.status, record.strategy) for record in episodes(alma)] == [
        (steps_kept, EpisodeStatus.ENDED, None)
    ]
    assert {str(error) for error in learner.errors} == {"no words"}


def test_a_span_that_cannot_be_read_reaches_no_agent_and_is_told(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*given: object) -> str:
        raise AttributeError("start_event is of another shape")

    monkeypatch.setattr("alma_llamaindex.spans.asked", unreadable)
    with ALMALearner(alma) as learner:
        assert str(run(agent_of(["done"]), memory_of(alma))) == "done"
    assert {str(error) for error in learner.errors} == {"start_event is of another shape"}
