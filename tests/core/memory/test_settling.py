"""Verdicts that come late."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from alma import ALMA, ConflictError, MemoryNotFoundError, ValidationError
from alma.types import EpisodeStatus
from attempts import Counts, counts, outcomes, told
from facade import ManualClock, OpenStore, held, refused

TASK = "Deploy auth service"


def test_a_verdict_is_set_in_the_record_and_in_the_same_memory_in_one_transaction(alma: ALMA, clock: ManualClock) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.end(strategy="blue-green")
    (before,) = outcomes(alma, TASK, "dev")
    records = held(alma)["journal_records"]
    clock.advance(days=1)
    settled = alma.settle("run-7", "failure", reason="rolled back in the night")
    assert held(alma)["journal_records"] == records + 1
    assert settled == alma.get_episode("run-7")
    assert (settled.status, settled.outcome, settled.strategy) == (EpisodeStatus.ENDED, "failure", "blue-green")
    assert (settled.reason, settled.settled_at) == ("rolled back in the night", clock.now)
    assert settled.ended_at != clock.now
    (after,) = outcomes(alma, TASK, "dev")
    assert after == alma.get(before.id)
    assert after == before.model_copy(
        update={"outcome": "failure", "user_feedback": "rolled back in the night", "updated_at": clock.now}
    )
    assert alma.verify().ok


def test_the_reason_is_found_by_its_words_and_the_verdict_ranks(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.succeed()
    alma.settle("run-7", False, "flooded by quokkas")
    (found,) = alma.retrieve("quokkas", "dev", arms=["text"]).recalled
    assert found.memory.id == alma.get_episode("run-7").outcome_id
    assert found.factors.success == pytest.approx(0.7)


def test_settling_alike_twice_changes_nothing_and_differently_corrects(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.succeed()
    before = held(alma)
    assert alma.settle("run-7", "success") == episode.record
    assert held(alma) == before
    first = alma.settle("run-7", "failure", "broken")
    before = held(alma)
    assert alma.settle("run-7", "FAILURE", "broken") == alma.settle("run-7", False) == first
    assert held(alma) == before
    assert alma.settle("run-7", "failure", "quite broken").reason == "quite broken"
    assert alma.settle("run-7", "partial").reason == "quite broken"
    assert told(outcomes(alma, TASK, "dev")) == [("partial", "", None)]
    assert alma.verify().ok


def test_what_was_used_is_counted_once_however_often_the_verdict_changes(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.observe("[H1]")
    for verdict in ("success", "failure", "success"):
        alma.settle("run-7", verdict)
    assert counts(alma, rule.id) == Counts(1, 0)


def test_an_abandoned_episode_that_is_settled_is_counted_and_gets_its_memory(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.observe("[H1]")
        episode.abandon("no time")
    assert counts(alma, rule.id) == Counts(0, 0)
    for _ in range(2):
        settled = alma.settle("run-7", "success")
        assert (settled.status, settled.reason) == (EpisodeStatus.ENDED, None)
        assert counts(alma, rule.id) == Counts(1, 0)
        (outcome,) = outcomes(alma, TASK, "dev")
        assert (outcome.id, outcome.outcome, outcome.user_feedback) == (settled.outcome_id, "success", None)


def test_an_unknown_episode_cannot_be_settled(alma: ALMA) -> None:
    with refused(alma, MemoryNotFoundError, "'e1'"):
        alma.settle("e1", "success")


def test_an_open_episode_cannot_be_settled(alma: ALMA) -> None:
    episode = alma.episode("dev", TASK)
    with refused(alma, ConflictError, "still open"):
        alma.settle(episode.id, "success")


@pytest.mark.parametrize(
    "given", [("run-7", "great"), ("run-7", None), ("run-7", "success", 3), (3, "success"), ("run-7", "success", "a\x00b")]
)
def test_bad_input_is_refused(alma: ALMA, given: tuple[object, ...]) -> None:
    with alma.episode("dev", TASK, episode_id="run-7"):
        pass
    with refused(alma, ValidationError):
        alma.settle(*given)


def test_of_many_that_settle_differently_at_once_none_gets_lost(open_store: OpenStore) -> None:
    alma = open_store()
    with alma.episode("dev", TASK, episode_id="run-7"):
        pass
    before = held(alma)["journal_records"]

    def settle(number: int) -> bool:
        try:
            alma.settle("run-7", "failure", f"reason {number}")
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        landed = list(threads.map(settle, range(16))).count(True)
    assert held(alma)["journal_records"] == before + landed
    assert landed >= 1
    (outcome,) = outcomes(alma, TASK, "dev")
    assert outcome.user_feedback == alma.get_episode("run-7").reason
    assert alma.verify().ok


def test_settling_undoes_nothing_of_what_the_steps_taught(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.step("pull", error="lost")
        episode.succeed()
    alma.settle("run-7", "failure")
    assert told(outcomes(alma, TASK, "dev")) == [("failure", "pull", "lost"), ("failure", "", None)]


def _judge_of(alma: ALMA, episode_id: str) -> str:
    return alma.get(str(alma.get_episode(episode_id).outcome_id)).verdict_source


def test_the_source_that_settles_is_kept_with_the_outcome_and_its_evidence_stays_in_one_place(alma: ALMA) -> None:
    for key in ("run-7", "run-8"):
        with alma.episode("dev", TASK, episode_id=key) as episode:
            episode.succeed(strategy="blue-green")
    alma.settle("run-7", "failure", source="person")
    assert (_judge_of(alma, "run-7"), _judge_of(alma, "run-8")) == ("person", "caller")
    (row,) = alma.strategies(TASK, "dev")
    assert (row.successes, row.trials) == (1, 2)
    assert alma.verify().ok


def test_confirming_a_verdict_as_a_person_is_kept_and_counts_nothing_twice(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.succeed(strategy="blue-green")
    alma.settle("run-7", "success", source="person")
    assert _judge_of(alma, "run-7") == "person"
    (row,) = alma.strategies(TASK, "dev")
    assert (row.successes, row.trials) == (1, 1)
    before = held(alma)
    alma.settle("run-7", "success", source="PERSON")
    alma.settle("run-7", "success")
    assert held(alma) == before
    assert _judge_of(alma, "run-7") == "person"


def test_an_abandoned_episode_is_judged_by_the_source_that_settles_it(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.abandon()
    alma.settle("run-7", "success", source="agent")
    assert _judge_of(alma, "run-7") == "agent"


@pytest.mark.parametrize(("first", "second"), [("person", "agent"), ("tool", "imported")])
def test_a_source_that_is_trusted_less_cannot_take_the_place_of_another(alma: ALMA, first: str, second: str) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.abandon()
    alma.settle("run-7", "success", source=first)
    with refused(alma, ConflictError, f"judged by source '{first}'.*verdict_source='{second}'"):
        alma.settle("run-7", "failure", source=second)
    assert (alma.get_episode("run-7").outcome, _judge_of(alma, "run-7")) == ("success", first)


def test_a_source_that_is_trusted_more_takes_the_place_of_an_own_word(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7") as episode:
        episode.abandon()
    alma.settle("run-7", "success", source="agent")
    alma.settle("run-7", "failure", source="person")
    assert (alma.get_episode("run-7").outcome, _judge_of(alma, "run-7")) == ("failure", "person")


def test_a_source_that_is_none_is_refused(alma: ALMA) -> None:
    with alma.episode("dev", TASK, episode_id="run-7"):
        pass
    with refused(alma, ValidationError, "verdict_source"):
        alma.settle("run-7", "success", source="oracle")
