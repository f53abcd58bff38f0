"""What an agent says of its own work, beside what others judged."""

from alma import ALMA
from facade import ManualClock

TASK = "Deploy the auth service"


def learned(alma: ALMA, ways: list[str], source: str) -> None:
    for way in ways:
        alma.learn("dev", f"{TASK} {way}", True, f"Use {way}", verdict_source=source)


def sources(alma: ALMA, top_k: int) -> list[str]:
    return [outcome.verdict_source.value for outcome in alma.retrieve(task=TASK, agent="dev", top_k=top_k).outcomes]


def test_beside_judged_outcomes_at_most_a_quarter_rests_on_an_own_word(alma: ALMA) -> None:
    learned(alma, ["blue", "green", "canary", "rolling", "shadow", "feature"], "tool")
    learned(alma, ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"], "agent")

    assert sources(alma, 3).count("agent") == 0
    assert sources(alma, 5).count("agent") <= 1
    assert sources(alma, 8).count("agent") <= 2


def test_where_nothing_was_judged_own_words_are_shown(alma: ALMA) -> None:
    learned(alma, ["blue", "green", "canary"], "agent")

    assert sources(alma, 3) == ["agent"] * 3


def test_an_own_word_is_no_better_for_being_new(alma: ALMA, clock: ManualClock) -> None:
    for way in ("blue", "green", "canary"):
        alma.learn("dev", TASK, True, f"Use {way}", verdict_source="tool")
    clock.advance(days=60)
    alma.learn("dev", TASK, True, "Use the newest way", verdict_source="agent")

    found = alma.retrieve(task=TASK, agent="dev", top_k=8)

    recency = {item.memory.strategy_used: item.factors.recency for item in found.recalled if item.memory.kind == "outcome"}
    assert len(set(recency.values())) == 1


def test_one_voice_that_repeats_itself_makes_no_heuristic(alma: ALMA, clock: ManualClock) -> None:
    for _ in range(6):
        clock.advance(days=1)
        alma.learn("dev", TASK, True, "Use blue-green", verdict_source="agent")

    assert alma.list_memories("heuristic") == []


def test_own_words_of_several_tasks_make_a_heuristic_that_is_not_proven(alma: ALMA) -> None:
    for task in ("Deploy the shop", "Deploy the blog", "Deploy the wiki", "Deploy the mail"):
        alma.learn("dev", task, True, "Use blue-green", task_type="deploying", verdict_source="agent")

    (rule,) = alma.list_memories("heuristic")
    assert rule.metadata["status"] in ("candidate", "likely")


def test_a_judged_success_corroborates_own_words(alma: ALMA) -> None:
    for source in ("agent", "agent", "tool"):
        alma.learn("dev", TASK, True, "Use blue-green", verdict_source=source)

    assert len(alma.list_memories("heuristic")) == 1


def test_an_explanation_says_why_an_own_word_has_no_place(alma: ALMA) -> None:
    learned(alma, ["blue", "green", "canary"], "tool")
    said = alma.learn("dev", TASK, True, "Use the newest way", verdict_source="agent")

    assert "own word" in str(alma.explain_retrieval(TASK, said.id, agent="dev", top_k=3))
