"""What is forecast of episodes that ended unjudged: read with them, stored nowhere, learned from by nothing."""

import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from alma import ALMA
from alma.memory.episodes import forecasts
from alma.types import EpisodeRecord, Forecast
from alma_learning import Bag
from attempts import BAD, GOOD, TASK, ended, judge
from facade import ManualClock, OpenStore, StoredIn, held


def _forecast(alma: ALMA, episode_id: str) -> Forecast:
    found = alma.get_episode(episode_id).forecast
    assert found is not None
    return found


def test_an_unjudged_episode_is_forecast_from_what_judged_ones_with_like_tools_were(alma: ALMA) -> None:
    judge(alma, 6)
    good, bad = ended(alma, GOOD), ended(alma, BAD)
    assert _forecast(alma, good).lower > 0.5 > _forecast(alma, bad).upper
    assert _forecast(alma, good).judged == 12


def test_recent_episodes_have_the_same_forecasts_and_judged_ones_none(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged = ended(alma, GOOD)
    by_id = {episode.id: episode for episode in alma.recent_episodes()}
    assert by_id[unjudged] == alma.get_episode(unjudged)
    assert [key for key, episode in by_id.items() if episode.forecast] == [unjudged]


def test_with_fewer_than_five_judged_episodes_there_is_no_forecast(alma: ALMA) -> None:
    judge(alma, 2)
    unjudged = ended(alma, GOOD)
    assert alma.get_episode(unjudged).forecast is None
    ended(alma, GOOD, "partial")
    assert _forecast(alma, unjudged).judged == 5


def test_open_and_abandoned_episodes_have_no_forecast(alma: ALMA) -> None:
    judge(alma, 3)
    left = alma.episode("clerk", TASK)
    left.abandon()
    still = alma.episode("clerk", TASK)
    assert [alma.get_episode(one.id).forecast for one in (left, still)] == [None, None]


def test_verdicts_of_other_agents_and_projects_do_not_count(alma: ALMA) -> None:
    judge(alma, 6, agent="other")
    judge(alma.for_project("elsewhere"), 6)
    assert alma.get_episode(ended(alma, GOOD)).forecast is None


def test_a_verdict_that_comes_late_is_in_the_next_forecast(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged, late = ended(alma, GOOD), ended(alma, GOOD)
    before = _forecast(alma, unjudged)
    alma.settle(late, "failure")
    after = _forecast(alma, unjudged)
    assert after.judged == before.judged + 1
    assert after.rate < before.rate


def test_a_verdict_that_was_undone_is_not_in_the_next_forecast(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged, late = ended(alma, GOOD), ended(alma, GOOD)
    before, head = _forecast(alma, unjudged), held(alma)["journal_records"]
    alma.settle(late, "failure")
    assert _forecast(alma, unjudged) != before
    alma.undo(to=head)
    assert _forecast(alma, unjudged) == before


def test_another_process_sees_new_verdicts_too(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    judge(one, 3)
    unjudged = ended(one, GOOD)
    assert _forecast(other, unjudged) == _forecast(one, unjudged)
    ended(one, GOOD, "success")
    assert _forecast(other, unjudged).judged == 7


def test_reading_a_forecast_writes_nothing_and_is_no_evidence(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged = ended(alma, GOOD, task="Rebook a train")
    before, evidence = held(alma), alma.strategies(agent="clerk").model_dump()
    prompt = alma.retrieve(TASK, "clerk", top_k=50).to_prompt()
    for _ in range(3):
        _forecast(alma, unjudged)
    assert held(alma) == before
    assert alma.strategies(agent="clerk").model_dump() == evidence
    assert alma.retrieve(TASK, "clerk", top_k=50).to_prompt() == prompt
    assert "forecast" not in prompt
    assert alma.get(str(alma.get_episode(unjudged).outcome_id)).outcome == "unverified"


def test_settling_keeps_no_forecast(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged = ended(alma, GOOD)
    assert _forecast(alma, unjudged)
    settled = alma.settle(unjudged, "success")
    assert settled.forecast is None
    assert settled == alma.get_episode(unjudged)


def test_a_forecast_survives_the_way_through_json(alma: ALMA) -> None:
    judge(alma, 3)
    episode = alma.get_episode(ended(alma, GOOD))
    assert episode.forecast is not None
    assert EpisodeRecord.model_validate_json(episode.model_dump_json()) == episode


def test_it_rests_on_the_newest_hundred_judged_episodes(alma: ALMA, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.memory.episodes.forecasts.NEWEST_JUDGED", 6)
    judge(alma, 2)
    clock.advance(hours=1)
    for _ in range(6):
        ended(alma, GOOD, "failure")
    found = _forecast(alma, ended(alma, GOOD))
    assert found.judged == 6
    assert found.upper < 0.5


def test_what_was_read_for_forecasts_is_read_again_only_when_the_journal_has_grown(alma: ALMA, mocker: MockerFixture) -> None:
    for agent in ("clerk", "other"):
        judge(alma, 3, agent=agent)
    unjudged = [ended(alma, GOOD, agent=agent) for agent in ("clerk", "other")]
    reads = mocker.spy(forecasts, "newest_endings")
    for _ in range(3):
        for episode_id in unjudged:
            _forecast(alma, episode_id)
    assert reads.call_count == 2
    alma.add_heuristic("clerk", TASK, "look up")
    _forecast(alma, unjudged[0])
    assert reads.call_count == 3


def test_a_purge_leaves_no_tool_of_an_episode_in_memory(alma: ALMA) -> None:
    for _ in range(5):
        ended(alma, ["call the xylophonist"], "success")
    _forecast(alma, ended(alma, GOOD))
    assert bags_in_memory("call the xylophonist")
    alma.purge([alma.add_heuristic("clerk", TASK, "look up").id])
    assert bags_in_memory("call the xylophonist") == []


def bags_in_memory(tool: str) -> list[Bag]:
    """Returns the bags of tools with this one that exist in the process."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is Bag and any(name == tool for name, _ in one.weights)]


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_damage_to_another_episode_leaves_out_the_forecast_and_nothing_else(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        judge(alma, 3)
        unjudged = ended(alma, GOOD)
        record, broken = alma.get_episode(unjudged), alma.recent_episodes()[-1].id
    with closing(sqlite3.connect(tmp_path / "alma.db")) as connection, connection:
        connection.execute("UPDATE record SET body = ? WHERE kind = 'episode_end' AND key = ?", (b"torn", broken))
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        assert record.forecast is not None
        assert alma.get_episode(unjudged) == record.model_copy(update={"forecast": None})
