"""What was used, passed over, praised and blamed moves what is retrieved; silence moves nothing."""

import pytest

from alma import ALMA, Outcome, Verdict
from alma.types.recalled import Recalled, RetrievalExplanation
from facade import START

TASK = "Deploy the auth service"
ROUNDS = 50


@pytest.fixture
def pair(alma: ALMA) -> tuple[str, str]:
    """The ids of two memories that are equal but for a word that nobody asks for, in the order in which they are retrieved."""
    alma.add_many(
        Outcome(agent="a", task_description=TASK, outcome=Verdict.SUCCESS, strategy_used=f"way {letter}", timestamp=START)
        for letter in "bc"
    )
    first, second = shown(alma)
    assert first.score == pytest.approx(second.score, abs=1e-6)
    return first.memory.id, second.memory.id


def shown(alma: ALMA, **given: object) -> tuple[Recalled, ...]:
    return alma.retrieve(TASK, "a", **given).recalled  # type: ignore[arg-type]


@pytest.mark.parametrize("signal", ["used", "thumbs_up"])
def test_fifty_rounds_of_feedback_reorder_two_equal_memories(alma: ALMA, pair: tuple[str, str], signal: str) -> None:
    first, second = pair
    for _ in range(ROUNDS):
        alma.record_feedback(second, signal=signal, agent="a")
    better, other = shown(alma)
    assert (better.memory.id, other.memory.id) == (second, first)
    assert better.score > 1.2 * other.score
    assert other.factors.usefulness == 1.0


def test_fifty_rounds_in_which_one_is_used_and_the_other_passed_over_fade_the_other(alma: ALMA, pair: tuple[str, str]) -> None:
    first, second = pair
    before = {item.memory.id: item.score for item in shown(alma)}
    for _ in range(ROUNDS):
        alma.record_usage([first, second], [second], agent="a")
    better, faded = shown(alma)
    assert (better.memory.id, faded.memory.id) == (second, first)
    assert faded.score < 0.85 * before[first]
    assert better.score > 1.15 * before[second]


def test_silence_changes_nothing_to_the_last_bit(alma: ALMA, pair: tuple[str, str]) -> None:
    before = alma.retrieve(TASK, "a", explain=True).to_json()
    for _ in range(ROUNDS):
        report = alma.record_usage(list(pair), agent="a")
    assert set(report.neutral) == set(pair)
    with alma.episode("a", TASK) as episode:
        episode.observe("I did it my own way.")
    alma.forget(memory_ids=[alma.get_episode(episode.id).outcome_id or ""])
    assert alma.retrieve(TASK, "a", explain=True).to_json() == before


def test_what_is_shown_in_an_episode_is_passed_over_only_where_another_was_cited(alma: ALMA, pair: tuple[str, str]) -> None:
    with alma.episode("a", TASK) as episode:
        tag = next(way.tag for way in episode.memories.strategies if way.id == pair[1])
        episode.observe(f"As in [{tag}].")
    usefulness = {item.memory.id: item.factors.usefulness for item in shown(alma)}
    assert usefulness[pair[0]] < 1 < usefulness[pair[1]]


def test_the_numbers_of_an_explanation_still_add_up(alma: ALMA, pair: tuple[str, str]) -> None:
    first, second = pair
    alma.record_feedback(second, signal="thumbs_up", agent="a")
    alma.record_feedback(first, signal="thumbs_down", agent="a")
    for item in alma.retrieve(TASK, "a", explain=True).recalled:
        told = item.explanation
        assert told is not None
        assert told.usefulness == item.factors.usefulness != 1.0
        weighed = sum(part.product for part in told.factors.values())
        assert told.usefulness * weighed == pytest.approx(item.score, abs=1e-9)
        assert f"{told.usefulness:.3f} × (" in str(told)


def test_the_reason_tells_a_usefulness_that_counts(alma: ALMA, pair: tuple[str, str]) -> None:
    def told(memory_id: str) -> RetrievalExplanation:
        return alma.explain_retrieval(TASK, memory_id, agent="a")

    assert "usefulness" not in told(pair[0]).text
    alma.record_feedback(pair[0], signal="thumbs_up", agent="a")
    assert "confidence=1.00, usefulness=1.11" in told(pair[0]).text


def test_the_recall_profile_stays_similarity_alone(alma: ALMA, pair: tuple[str, str]) -> None:
    alma.record_feedback(pair[0], signal="thumbs_down", agent="a")
    for item in shown(alma, profile="recall"):
        assert item.factors.usefulness == 1.0
        assert item.score == item.factors.similarity


def test_weights_of_a_call_leave_usefulness_in_force(alma: ALMA, pair: tuple[str, str]) -> None:
    alma.record_feedback(pair[1], signal="thumbs_up", agent="a")
    better, other = shown(alma, weights={"similarity": 1})
    assert better.memory.id == pair[1]
    assert better.score == pytest.approx(better.factors.usefulness * better.factors.similarity, abs=1e-12)
    assert other.factors.usefulness == 1.0


def test_a_memory_off_the_question_does_not_come_in_by_praise(alma: ALMA, pair: tuple[str, str]) -> None:
    off = alma.add_domain_knowledge("a", "kitchen", "Bread needs yeast, salt and patience")
    for _ in range(ROUNDS):
        alma.record_feedback(off.id, signal="thumbs_up", agent="a")
    assert off.id not in {item.memory.id for item in shown(alma)}
