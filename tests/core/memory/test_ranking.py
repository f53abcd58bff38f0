"""How a slice is ordered: factors, weights, ties, and that looking changes nothing."""

import hashlib
import itertools
from pathlib import Path

import pytest

from alma import ALMA, DomainKnowledge, Heuristic, Outcome, Verdict
from alma.scoring import FACTORS
from facade import START, ManualClock, OpenStore, contents, held

TASK = "Deploy the auth service"
ONLY_SIMILARITY = {"similarity": 1.0, "recency": 0.0, "success": 0.0, "confidence": 0.0}


def _fill(alma: ALMA, clock: ManualClock) -> None:
    """Some of each kind, of different age, sureness and success."""
    for number in range(7):
        clock.advance(days=11)
        topic = ("auth service", "mail service", "auth form", "database")[number % 4]
        alma.learn("a", f"Deploy the {topic}, take {number}", ("success", "failure", "partial", "unverified")[number % 4])
        alma.add_domain_knowledge("a", "ops", f"The {topic} runs on host {number}", ("user_stated", "inferred")[number % 2])
        alma.add_anti_pattern("a", f"Deploy the {topic} on day {number}", "Nobody is there")
        alma.add_user_preference("u", "deploy", f"Deploy the {topic} by hand {number}")
    alma.add_many(
        Heuristic(
            agent="a",
            condition=f"Deploy the auth service {number}",
            strategy="blue-green",
            occurrence_count=10,
            success_count=number,
            confidence=number / 10,
            last_validated=clock.now,
        )
        for number in range(7)
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"profile": "recall"},
        {"weights": {"recency": 3, "success": 1}},
        {"weights": {"similarity": 1, "recency": 2, "success": 3, "confidence": 4}},
        {"arms": ("dense",)},
        {"arms": ("text",)},
    ],
)
def test_factors_times_weights_are_the_score(alma: ALMA, clock: ManualClock, given: dict[str, object]) -> None:
    _fill(alma, clock)
    found = alma.retrieve(TASK, "a", user_id="u", top_k=20, **given).recalled  # type: ignore[arg-type]
    assert len(found) >= 10
    for item in found:
        factors = item.factors
        assert set(factors.weights) == set(FACTORS)
        assert sum(factors.weights.values()) == pytest.approx(1.0, abs=1e-12)
        weighed = sum(weight * getattr(factors, factor) for factor, weight in factors.weights.items())
        assert item.score == pytest.approx(factors.usefulness * weighed, abs=1e-9)
        assert 0 <= item.score <= 1


@pytest.mark.parametrize("top_k", [1, 2, 5, 7])
def test_there_are_at_most_top_k_of_each_kind_best_first_and_the_same_as_of_more(
    alma: ALMA, clock: ManualClock, top_k: int
) -> None:
    _fill(alma, clock)
    found, all_of_them = (alma.retrieve(TASK, "a", user_id="u", top_k=count) for count in (top_k, 100))
    scores = [item.score for item in found.recalled]
    assert scores == sorted(scores, reverse=True)
    for name in ("heuristics", "outcomes", "anti_patterns", "domain_knowledge", "preferences"):
        of_kind = getattr(found, name)
        assert len(of_kind) == min(top_k, len(getattr(all_of_them, name)))
        assert of_kind == getattr(all_of_them, name)[:top_k]


@pytest.mark.parametrize(("winner", "loser"), [("alpha", "gamma"), ("gamma", "alpha")])
def test_the_newer_of_otherwise_equal_memories_comes_first(alma: ALMA, clock: ManualClock, winner: str, loser: str) -> None:
    alma.learn("a", TASK, "success", winner, timestamp=START)
    alma.learn("a", TASK, "success", loser, timestamp=START.replace(month=1))
    first, second = alma.retrieve(TASK, "a").recalled
    assert first.memory.strategy_used == winner
    assert (first.factors.recency, second.factors.recency) == pytest.approx((1.0, 0.5 ** (59 / 30)))
    assert first.factors.similarity == pytest.approx(second.factors.similarity, abs=1e-6)


@pytest.mark.parametrize(("winner", "loser"), [("success", "failure"), ("success", "partial"), ("partial", "failure")])
def test_the_more_successful_of_otherwise_equal_memories_comes_first(alma: ALMA, winner: str, loser: str) -> None:
    for way in (winner, loser), (loser, winner):
        for verdict in way:
            alma.learn(f"{way}", TASK, verdict, "alpha")
        assert [memory.outcome for memory in alma.retrieve(TASK, f"{way}").outcomes] == [winner, loser]


@pytest.mark.parametrize(("winner", "loser"), [("alpha", "gamma"), ("gamma", "alpha")])
def test_the_surer_of_otherwise_equal_memories_comes_first(alma: ALMA, winner: str, loser: str) -> None:
    alma.add_many(
        Outcome(
            agent="a", task_description=TASK, outcome=Verdict.SUCCESS, strategy_used=way, confidence=confidence, timestamp=START
        )
        for way, confidence in ((winner, 0.9), (loser, 0.6))
    )
    first, second = alma.retrieve(TASK, "a").recalled
    assert first.memory.strategy_used == winner
    assert (first.factors.confidence, second.factors.confidence) == (0.9, 0.6)
    assert first.score - second.score == pytest.approx(0.1 * 0.3, abs=1e-6)


def test_a_heuristic_with_the_better_record_comes_first(alma: ALMA) -> None:
    alma.add_many(
        Heuristic(agent="a", condition=f"{TASK} {word}", strategy="go", occurrence_count=10, success_count=count)
        for count, word in ((9, "alpha"), (2, "gamma"), (5, "delta"))
    )
    found = alma.retrieve(TASK, "a", weights={"success": 1}).recalled
    assert [item.memory.success_count for item in found] == [9, 5, 2]
    assert [item.factors.success for item in found] == pytest.approx([10 / 12, 6 / 12, 3 / 12])


def test_weights_of_a_call_turn_the_order(alma: ALMA) -> None:
    near = alma.learn("a", TASK, "failure", timestamp=START.replace(year=2024))
    fresh = alma.learn("a", "Deploy the mail service", "failure", timestamp=START)
    assert alma.retrieve(TASK, "a", weights={"similarity": 1}).ids == [near.id, fresh.id]
    assert alma.retrieve(TASK, "a", weights={"recency": 1}).ids == [fresh.id, near.id]


def test_only_the_proportions_of_weights_matter(alma: ALMA, clock: ManualClock) -> None:
    _fill(alma, clock)
    once = alma.retrieve(TASK, "a", weights={"similarity": 1, "recency": 2})
    assert alma.retrieve(TASK, "a", weights={"similarity": 300, "recency": 600}).ids == once.ids


def test_the_recall_profile_ranks_by_similarity_alone(alma: ALMA, clock: ManualClock) -> None:
    _fill(alma, clock)
    found = alma.retrieve(TASK, "a", profile="recall", top_k=20)
    assert all(item.score == pytest.approx(item.factors.similarity, abs=1e-12) for item in found.recalled)
    assert found.recalled[0].factors.weights == ONLY_SIMILARITY
    assert found.ids == alma.retrieve(TASK, "a", weights={"similarity": 5}, top_k=20).ids


def test_weights_and_half_life_of_a_configuration_file_are_the_usual_ones(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "alma.yaml"
    path.write_text(
        "project_id: shop\nembedding_provider: hash\nstorage_dir: store\n"
        "scoring: {half_life_days: 10, weights: {similarity: 0, recency: 1, success: 0, confidence: 0}}\n",
        encoding="utf-8",
    )
    with ALMA.from_config(path, clock=clock) as alma:
        alma.learn("a", TASK, "success")
        clock.advance(days=20)
        (item,) = alma.retrieve(TASK, "a").recalled
    assert item.score == item.factors.recency == pytest.approx(0.25)


def test_recency_fades_as_the_clock_moves_and_the_rest_stays(alma: ALMA, clock: ManualClock) -> None:
    alma.learn("a", TASK, "success")
    (new,) = alma.retrieve(TASK, "a").recalled
    clock.advance(days=30)
    (old,) = alma.retrieve(TASK, "a").recalled
    assert (new.factors.recency, old.factors.recency) == pytest.approx((1.0, 0.5))
    assert new.factors.model_copy(update={"recency": 0.5}) == old.factors


def test_what_lies_in_the_future_is_as_recent_as_can_be(alma: ALMA) -> None:
    alma.learn("a", TASK, "success", timestamp=START.replace(year=2030))
    assert alma.retrieve(TASK, "a").recalled[0].factors.recency == 1.0


def _equal_ones() -> list[Outcome]:
    """Equal in every factor and in how they are found; they differ in a word that nobody asks for."""
    return [
        Outcome(agent="a", task_description=TASK, outcome=Verdict.SUCCESS, strategy_used=f"way {letter}", timestamp=START)
        for letter in "bcdefghjkl"
    ]


def test_ties_are_broken_by_content_never_by_id_or_order_of_writing(open_store: OpenStore) -> None:
    orders = []
    for number, order in enumerate(itertools.islice(itertools.permutations(range(10)), 0, 3_000_000, 600_000)):
        alma = open_store(f"store {number}")
        fresh = _equal_ones()
        alma.add_many(fresh[place] for place in order)
        orders.append([memory.strategy_used for memory in alma.retrieve(TASK, "a", top_k=6).outcomes])
    assert len(orders) == 5
    assert all(order == orders[0] for order in orders)


def test_the_order_of_writing_and_new_ids_change_neither_contents_nor_scores(open_store: OpenStore) -> None:
    def memories() -> list[DomainKnowledge | Outcome]:
        facts = [
            DomainKnowledge(agent="a", domain="ops", fact=f"The {thing} service runs on {place}", last_verified=START)
            for thing in ("auth", "mail", "cart")
            for place in ("host one", "host two", "a laptop")
        ]
        return [*facts, *_equal_ones()]

    shown = []
    for number, turn in enumerate((1, -1)):
        alma = open_store(f"store {number}")
        for memory in memories()[::turn]:
            alma.add_many([memory])
        found = alma.retrieve("Deploy the auth service on host two", "a", top_k=20)
        shown.append((contents(found), [item.score for item in found.recalled]))
    assert shown[0][0] == shown[1][0]
    assert shown[0][1] == pytest.approx(shown[1][1], abs=1e-6)


def test_the_same_question_gives_the_same_slice_to_the_byte(alma: ALMA, clock: ManualClock) -> None:
    _fill(alma, clock)
    first, second = (alma.retrieve(TASK, "a", user_id="u", top_k=20) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert first.to_prompt() == second.to_prompt()


def test_names_of_readable_agents_in_the_task_change_no_similarity_of_meaning(open_store: OpenStore) -> None:
    alma = open_store(agents={"qa lead": {"share_with": ["helena"]}})
    for agent in ("helena", "qa lead"):
        alma.learn(agent, TASK, "success", agent)
    plain, named = (
        [item.factors for item in alma.retrieve(task, "helena", arms=("dense",)).recalled]
        for task in (TASK, f"Helena, ask QA lead: {TASK}")
    )
    asked = alma.retrieve(f"ask: {TASK}", "helena", arms=("dense",)).recalled
    assert named == [item.factors for item in asked] != plain


def _bytes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


def test_retrieving_writes_nothing(alma: ALMA, clock: ManualClock, tmp_path: Path) -> None:
    _fill(alma, clock)
    before, figures, heads = _bytes(tmp_path / "store"), held(alma), alma.verify().heads
    for reader in ("a", "b", "stranger"):
        for question in (TASK, "How do I bake bread?", "a question that was never asked before"):
            alma.retrieve(question, reader, user_id="u", top_k=20).to_prompt()
    assert _bytes(tmp_path / "store") == before
    assert held(alma) == figures
    assert alma.verify().heads == heads


def test_retrieving_from_a_project_that_was_never_written_to_does_not_make_it(alma: ALMA, tmp_path: Path) -> None:
    alma.learn("a", TASK, "success")
    before = _bytes(tmp_path / "store")
    assert alma.for_project("nowhere").retrieve(TASK, "a").total_items == 0
    assert alma.verify().projects == 1
    assert _bytes(tmp_path / "store") == before
