"""What fails beside an agent reaches no agent, and is told."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from alma import ALMA, StorageError
from alma.types import EpisodeStatus
from alma_llamaindex import ALMALearner, instrument_alma
from alma_llamaindex.testing import Answer
from llama_runs import BOOM, OK, OK_THEN_BAD, agent_of, episodes, memory_of, ok, run, steps

pytestmark = pytest.mark.any_version


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


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[ALMA]:
    """A store whose learner waits a twentieth of a second for one who holds it."""
    with ALMA.open(tmp_path / "impatient", project_id="shop", embedding_provider="hash") as opened:
        instrument_alma(opened, lock_timeout=0.05)
        yield opened


def holding(folder: Path) -> closing[sqlite3.Connection]:
    """A connection of somebody else's."""
    return closing(sqlite3.connect(folder / "impatient" / "alma.db", isolation_level=None, check_same_thread=False))


@pytest.mark.parametrize("script", [OK_THEN_BAD, ["done"]])
def test_a_store_that_stays_held_costs_a_run_one_error_and_the_next_run_is_learned_from(
    impatient: ALMA, tmp_path: Path, caplog: pytest.LogCaptureFixture, script: list[Answer]
) -> None:
    memory = memory_of(impatient)
    with holding(tmp_path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert str(run(agent_of(script), memory)) == "done"
        assert memory.learner.flush()
        holder.execute("ROLLBACK")
    assert [type(error) for error in memory.learner.errors] == [StorageError]
    assert caplog.text.count("was locked by another process") == 1
    assert memory.learner.last_run is None
    run(agent_of(OK_THEN_BAD), memory_of(impatient))
    assert [steps(record) for record in episodes(impatient)] == [[OK, BOOM]]


def test_a_store_that_is_held_for_a_while_costs_an_episode_that_is_begun_its_further_steps_alone(
    impatient: ALMA, tmp_path: Path
) -> None:
    memory = memory_of(impatient)

    def hold() -> str:
        """Holds the store, when all that was done before is written."""
        memory.learner.flush()
        holder.execute("BEGIN IMMEDIATE")
        return ""

    def let_go() -> str:
        """Lets go of it, when it was tried to write what was done before."""
        memory.learner.flush()
        holder.execute("ROLLBACK")
        return ""

    with holding(tmp_path) as holder:
        run(agent_of([[("ok", {})], [("hold", {})], [("let_go", {})], "done"], tools=[ok, hold, let_go]), memory)
    assert [([step.tool for step in record.steps], record.status) for record in episodes(impatient)] == [
        (["ok"], EpisodeStatus.ENDED)
    ]
    assert [type(error) for error in memory.learner.errors] == [StorageError]


def test_a_call_for_which_there_are_no_words_goes_by_the_name_of_the_tool(alma: ALMA) -> None:
    with ALMALearner(alma, action=lambda use: "" if use.name == "ok" else f"called {use.name}") as learner:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
    assert [[step.action for step in record.steps] for record in episodes(alma)] == [["ok", "called bad"]]
    assert learner.errors == []


@pytest.mark.parametrize(("what", "strategy"), [("action", None), ("strategy", None)])
def test_words_that_cannot_be_said_reach_no_agent_and_are_told(alma: ALMA, what: str, strategy: str | None) -> None:
    def speechless(*given: object) -> str:
        raise LookupError("no words")

    with ALMALearner(alma, **{what: speechless}) as learner:
        assert str(run(agent_of(OK_THEN_BAD), memory_of(alma))) == "done"
    assert [(len(record.steps), record.status, record.strategy) for record in episodes(alma)] == [
        (2, EpisodeStatus.ENDED, strategy)
    ]
    assert {str(error) for error in learner.errors} == {"no words"}


def test_a_span_that_cannot_be_read_reaches_no_agent_and_is_told(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*given: object) -> str:
        raise AttributeError("start_event is of another shape")

    monkeypatch.setattr("alma_llamaindex.spans.asked", unreadable)
    with ALMALearner(alma) as learner:
        assert str(run(agent_of(["done"]), memory_of(alma))) == "done"
    assert {str(error) for error in learner.errors} == {"start_event is of another shape"}
