"""An attempt of which nobody says anything is kept as an episode and remembered as nothing."""

import pytest

from alma import ALMA
from attempts import Counts, counts, outcomes
from facade import held

TASK = "Hi"


def ended(alma: ALMA, **said: str) -> str:
    with alma.episode("dev", TASK) as episode:
        episode.end(**said)
    return episode.id


def test_small_talk_becomes_no_memory(alma: ALMA) -> None:
    for _ in range(10):
        ended(alma)
    assert held(alma)["total"] == 0
    assert alma.retrieve(TASK, "dev").to_prompt() == ""
    assert [(episode.outcome, episode.outcome_id) for episode in alma.recent_episodes()] == [("unverified", None)] * 10
    assert alma.review("dev").unjudged_count == 10


@pytest.mark.parametrize("said", [{"strategy": "wave"}, {"error": "no answer"}, {"feedback": "nice"}, {"outcome": "success"}])
def test_what_says_anything_becomes_one(alma: ALMA, said: dict[str, str]) -> None:
    assert alma.get_episode(ended(alma, **said)).outcome_id is not None


def test_a_step_is_worth_one(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        episode.step("wave", ok=None)
    assert episode.record.outcome_id is not None


def test_a_late_verdict_makes_it_with_its_source(alma: ALMA) -> None:
    key = ended(alma)
    settled = alma.settle(key, "failure", "rude", source="agent")
    (outcome,) = outcomes(alma, TASK, "dev")
    assert (outcome.id, outcome.outcome, outcome.user_feedback) == (settled.outcome_id, "failure", "rude")
    assert (outcome.verdict_source, settled.verdict_source) == ("agent", "agent")
    assert alma.settle(key, "success").outcome_id == settled.outcome_id
    assert alma.verify().ok


def test_the_source_that_the_ending_named_is_that_of_a_late_verdict_without_one(alma: ALMA) -> None:
    key = ended(alma, source="evaluator")
    assert alma.get(str(alma.settle(key, "success").outcome_id)).verdict_source == "evaluator"


def test_what_was_used_in_it_is_counted_all_the_same(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "say hello")
    with alma.episode("dev", TASK) as episode:
        episode.observe("[H1]")
    assert episode.record.outcome_id is None
    assert counts(alma, rule.id) == Counts(1, 0)
    alma.settle(episode.id, "success")
    assert counts(alma, rule.id) == Counts(1, 0)
