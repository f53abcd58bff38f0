"""Every number behind what a retrieval returned."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA, CustomMemoryType, Draft, MemorySlice, Passage
from alma.types import DomainKnowledge
from alma.types.identity import Access
from alma.types.recalled import Explanation
from facade import ManualClock, OpenStore, StoredIn

WORDS = ("login", "form", "deploy", "service", "token", "bread", "oven", "retry")
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


def only(memories: MemorySlice) -> Explanation:
    (item,) = memories.recalled
    assert item.explanation is not None
    return item.explanation


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> Any:
    """Outcomes of two agents that share, on several days, some of them equal; facts, and preferences of one user."""
    clock = ManualClock()
    folder = tmp_path_factory.mktemp("many")
    rules = {"vera": {"share_with": ["hal"]}}
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=clock, agents=rules, **stored_in(folder)) as alma:
        for number in range(40):
            words = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3, 5))
            alma.learn(("hal", "vera")[number % 2], words, ("success", "failure", "partial")[number % 3], "by hand")
            clock.advance(hours=7)
        alma.add_domain_knowledge("vera", "auth", "A token lives for a day")
        alma.add_heuristic("hal", "deploy service", "retry with a new token")
        alma.add_user_preference("ursula", "tone", "short answers")
        yield alma


@settings(max_examples=40)
@given(
    task=phrases,
    top_k=st.integers(1, 7),
    arms=st.sampled_from([("dense",), ("text",), ("dense", "text")]),
    weights=st.none()
    | st.fixed_dictionaries({"similarity": st.floats(0.1, 9), "recency": st.floats(0, 9), "success": st.floats(0, 9)}),
)
def test_the_parts_add_up_to_the_score(many: ALMA, task: str, top_k: int, arms: Any, weights: Any) -> None:
    found = many.retrieve(task, "hal", top_k=top_k, user_id="ursula", arms=arms, weights=weights, explain=True)

    for item in found.recalled:
        told = item.explanation
        assert told is not None
        for part in told.factors.values():
            assert part.product == pytest.approx(part.value * part.weight, abs=1e-12)
        assert told.usefulness * sum(part.product for part in told.factors.values()) == pytest.approx(item.score, abs=1e-9)
        assert told.score == item.score
        assert {name: part.value for name, part in told.factors.items()} == item.factors.model_dump(include=set(told.factors))


@settings(max_examples=40)
@given(task=phrases, arms=st.sampled_from([("dense",), ("text",), ("dense", "text")]))
def test_the_similarity_follows_from_the_raw_scores(many: ALMA, task: str, arms: Any) -> None:
    for item in many.retrieve(task, "hal", arms=arms, explain=True).recalled:
        told = item.explanation
        assert told is not None
        z = 0.0
        for name, arm in told.arms.items():
            assert arm.score == {"dense": told.cosine, "text": told.share}[name]
            z += arm.weight * (arm.score - arm.mean) / arm.deviation
        assert set(told.arms) == set(arms)
        assert told.z == pytest.approx(z, abs=1e-9)
        assert told.similarity == pytest.approx(1 / (1 + math.exp(2.0 - z)), abs=1e-9)
        assert told.factors["similarity"].value == told.similarity


@settings(max_examples=20)
@given(task=phrases, top_k=st.integers(1, 7))
def test_explaining_changes_nothing_else(many: ALMA, task: str, top_k: int) -> None:
    explained = many.retrieve(task, "hal", top_k=top_k, explain=True)
    plain = many.retrieve(task, "hal", top_k=top_k)

    assert all(item.explanation is None for item in plain.recalled)
    assert [item.model_copy(update={"explanation": None}) for item in explained.recalled] == list(plain.recalled)
    assert explained.to_prompt() == plain.to_prompt()


def test_an_explained_slice_goes_through_json(many: ALMA) -> None:
    found = many.retrieve("deploy the service", "hal", explain=True)

    assert found.total_items
    assert MemorySlice.from_json(found.to_json()) == found


def test_ranks_count_through_the_answer_and_through_each_kind(many: ALMA) -> None:
    found = many.retrieve("token", "hal", user_id="ursula", explain=True)
    kinds: dict[str, int] = {}

    for place, item in enumerate(found.recalled, 1):
        kinds[item.memory.kind] = kinds.get(item.memory.kind, 0) + 1
        assert item.explanation is not None
        assert (item.explanation.rank, item.explanation.rank_of_kind) == (place, kinds[item.memory.kind])
    assert len(kinds) > 1


def test_the_nearest_passage_is_told_with_its_speaker_and_position(alma: ALMA) -> None:
    turns = ["I like long walks", "Our deploy script broke the login form", "Thanks"]
    passages = tuple(Passage(text=text, speaker="Ann", position=place) for place, text in enumerate(turns))
    alma.add_many([Draft(memory=DomainKnowledge(agent="hal", domain="talk", fact="a talk"), passages=passages)])

    nearest = only(alma.retrieve("who broke the login form?", "hal", explain=True)).passage

    assert nearest is not None
    assert (nearest.text, nearest.speaker, nearest.position) == (turns[1], "Ann", 1)
    assert nearest.cosine > 0.3


def test_words_are_matched_as_full_text_compares_them(alma: ALMA) -> None:
    alma.learn("hal", "Testing the login forms", "success", "Empty fields first")
    told = only(alma.retrieve("test: how does the form behave when fields are locked?", "hal", explain=True))

    assert told.words == ("test", "form", "fields")
    assert told.share > 0


def test_folded_copies_are_named(alma: ALMA, clock: ManualClock) -> None:
    ids = []
    for _ in range(3):
        ids.append(alma.learn("hal", "Test the login form", "unverified", "Empty fields first").id)  # no rule is shown beside
        clock.advance(minutes=1)
    found = alma.retrieve("login form", "hal", explain=True)

    assert found.ids == [ids[2]]
    assert only(found).copies == 3
    assert set(only(found).folded) == set(ids[:2])


@pytest.mark.parametrize(
    ("rules", "access"),
    [
        ({}, Access.OWN),
        ({"vera": {"share_with": ["hal"]}}, Access.SHARED),
        ({"vera": {"share_with": ["*"]}}, Access.SHARED_WITH_ALL),
        ({"hal": {"inherit_from": ["vera"]}}, Access.INHERITED),
    ],
)
def test_the_rule_that_let_it_in_is_told(open_store: OpenStore, rules: Any, access: Access) -> None:
    alma = open_store(agents=rules)
    alma.learn("hal" if access is Access.OWN else "vera", "Test the login form", "success", "by hand")

    assert only(alma.retrieve("login form", "hal", explain=True)).access is access


def test_a_preference_is_let_in_by_its_user(alma: ALMA) -> None:
    alma.add_user_preference("ursula", "tone", "short answers")
    assert only(alma.retrieve("login form", "hal", user_id="ursula", explain=True)).access is Access.OWN_PREFERENCE


def test_it_reads_well(many: ALMA) -> None:
    told = str(many.retrieve("deploy the service", "hal", explain=True).recalled[0].explanation)

    assert told.startswith("score 0.")
    assert all(word in told for word in ("similarity", "cosine", "words matched: ", "readable because"))


def test_the_weights_of_a_kind_of_the_users_own_are_told(alma: ALMA) -> None:
    alma.register_memory_type(
        CustomMemoryType(
            name="meeting_note",
            fields={"title": str, "summary": str},
            embedding_fields=["summary"],
            scoring_weights={"recency": 0.5, "relevance": 0.5},
        )
    )
    alma.add("meeting_note", agent="hal", title="Weekly", summary="The login form gets a captcha")
    item = alma.retrieve("login form", "hal", explain=True).recalled[0]

    assert item.explanation is not None
    assert {name: part.weight for name, part in item.explanation.factors.items()} == {
        "similarity": 0.5,
        "recency": 0.5,
        "success": 0.0,
        "confidence": 0.0,
    }
    assert sum(part.product for part in item.explanation.factors.values()) == pytest.approx(item.score, abs=1e-9)
