"""Why a memory is not returned: one filter, named; and without that filter it is returned."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.errors import ScopeViolationError, ValidationError
from alma.types.identity import Access
from alma.types.recalled import Reason, RetrievalExplanation
from facade import ManualClock, NewPlace, OpenStore

WORDS = ("login", "form", "deploy", "service", "token", "bread", "oven", "retry")
AGENTS = ("hal", "vera", "ivan")
USERS = ("ursula", "ute")


def test_an_id_that_is_nowhere(alma: ALMA) -> None:
    told = alma.explain_retrieval("login", "no-such-id", agent="hal")

    assert told.reason is Reason.UNKNOWN
    assert str(told) == "Not selected because: no memory of project 'shop' has the id 'no-such-id'"
    assert alma.explain_retrieval("login", "no-such-id").agent is None


def test_a_memory_of_another_project(alma: ALMA) -> None:
    other = alma.for_project("secret-plans")
    memory = other.learn("hal", "Test the login form", "success", "by hand")
    told = alma.explain_retrieval("login form", memory.id, agent="hal")

    assert told.reason is Reason.OTHER_PROJECT
    assert "secret-plans" not in str(told)
    assert other.explain_retrieval("login form", memory.id, agent="hal").selected


def test_a_forgotten_memory(alma: ALMA) -> None:
    memory = alma.learn("hal", "Test the login form", "success", "by hand")
    before = alma.get_stats().journal_records
    alma.forget(memory_ids=[memory.id])
    told = alma.explain_retrieval("login form", memory.id, agent="hal")
    assert told.reason is Reason.ARCHIVED
    assert str(told) == "Not selected because: it was forgotten: it is archived, and no search looks at it"

    alma.undo(to=before)
    assert alma.explain_retrieval("login form", memory.id, agent="hal").selected


def test_a_rule_that_its_outcomes_no_longer_bear_out(alma: ALMA) -> None:
    outcomes = ["success"] * 3 + ["failure"] * 9
    for number, outcome in enumerate(outcomes):
        alma.learn("hal", f"Test form {number}", outcome, "by hand", task_type="forms")
        if number == 2:
            (rule,) = alma.list_memories("heuristic")

    assert alma.list_memories("heuristic") == []
    assert alma.explain_retrieval("Test form 9", rule.id, agent="hal", task_type="forms").reason is Reason.UNKNOWN


def test_a_rule_that_was_forgotten(alma: ALMA) -> None:
    for number in range(3):
        alma.learn("hal", f"Test form {number}", "success", "by hand", task_type="forms")
    (rule,) = alma.list_memories("heuristic")
    alma.forget(memory_ids=[rule.id])

    assert alma.explain_retrieval("Test form 9", rule.id, agent="hal", task_type="forms").reason is Reason.ARCHIVED


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_rule_of_an_agent_that_shares_nothing(alma: ALMA, is_archived: bool) -> None:
    for number in range(3):
        alma.learn("vera", f"Test form {number}", "success", "by hand", task_type="forms")
    (rule,) = alma.list_memories("heuristic")
    if is_archived:
        alma.forget(memory_ids=[rule.id])

    told = alma.explain_retrieval("Test form 9", rule.id, agent="hal", task_type="forms")

    assert (told.reason, told.access) == (Reason.SCOPE, Access.NOT_SHARED)
    assert "by hand" not in told.to_json()


@pytest.mark.parametrize(
    ("rules", "access", "words"),
    [
        ({}, Access.NOT_SHARED, "inherit_from of 'hal' would let it in"),
        ({"vera": {"share_with": ["ivan"]}}, Access.LEFT_OUT, "leaves 'hal' out"),
        ({"vera": {"share_with": []}, "hal": {"inherit_from": ["vera"]}}, Access.LEFT_OUT, "leaves 'hal' out"),
    ],
)
def test_a_memory_that_is_not_shared(open_store: OpenStore, rules: Any, access: Access, words: str) -> None:
    alma = open_store(agents=rules)
    memory = alma.learn("vera", "A secret of the login form", "success", "by hand")
    told = alma.explain_retrieval("login form", memory.id, agent="hal")

    assert (told.reason, told.access) == (Reason.SCOPE, access)
    assert words in str(told)
    assert "secret" not in told.to_json()
    assert told.explanation is None


def test_shared_memories_that_were_not_asked_for(open_store: OpenStore) -> None:
    alma = open_store(agents={"vera": {"share_with": ["hal"]}})
    memory = alma.learn("vera", "Test the login form", "success", "by hand")
    told = alma.explain_retrieval("login form", memory.id, agent="hal", include_shared=False)

    assert told.access is Access.SHARED_EXCLUDED
    assert alma.explain_retrieval("login form", memory.id, agent="hal").selected


@pytest.mark.parametrize(("user", "access"), [(None, Access.NO_USER), ("ute", Access.OTHER_USER)])
def test_a_preference_of_somebody_else(alma: ALMA, user: str | None, access: Access) -> None:
    preference = alma.add_user_preference("ursula", "tone", "short answers")
    told = alma.explain_retrieval("login form", preference.id, agent="hal", user_id=user)

    assert (told.reason, told.access) == (Reason.SCOPE, access)
    assert "ursula" not in str(told)
    assert alma.explain_retrieval("login form", preference.id, agent="hal", user_id="ursula").selected


def test_a_memory_beside_the_point_is_told_with_numbers_and_thresholds(alma: ALMA) -> None:
    fact = alma.add_domain_knowledge("hal", "cooking", "Bake bread at 200 degrees")
    told = alma.explain_retrieval("login form", fact.id, agent="hal")

    assert told.reason is Reason.BELOW_FLOOR
    assert told.floor is not None
    assert told.explanation is not None
    assert told.explanation.cosine < told.floor.cosine
    assert told.explanation.share < told.floor.share
    assert f"{told.explanation.cosine:.3f}" in str(told)
    assert "0.20" in str(told)


@pytest.mark.parametrize(("arm", "told", "untold"), [("text", "share of matching words", "cosine"), ("dense", "cosine", "share")])
def test_only_what_was_searched_is_held_against_it(alma: ALMA, arm: str, told: str, untold: str) -> None:
    fact = alma.add_domain_knowledge("hal", "cooking", "Bake bread at 200 degrees")
    text = str(alma.explain_retrieval("login form", fact.id, agent="hal", arms=(arm,)))

    assert told in text
    assert untold not in text


def test_a_memory_that_another_stands_for(alma: ALMA, clock: ManualClock) -> None:
    older = alma.learn("hal", "Test the login form", "success", "by hand")
    clock.advance(days=1)
    newer = alma.learn("hal", "Test the login form", "success", "by hand")
    told = alma.explain_retrieval("login form", older.id, agent="hal")

    assert (told.reason, told.stands_for_it) == (Reason.FOLDED, newer.id)
    assert newer.id in str(told)
    alma.forget(memory_ids=[newer.id])
    assert alma.explain_retrieval("login form", older.id, agent="hal").selected


def test_a_memory_below_the_last_of_its_kind(alma: ALMA, clock: ManualClock) -> None:
    old = alma.learn("hal", "Test the login form", "failure", "by hand")
    clock.advance(days=300)
    new = [alma.learn("hal", f"Test the login form, round {number}", "unverified", "by hand") for number in range(3)]
    told = alma.explain_retrieval("Test the login form", old.id, agent="hal", top_k=2)
    last = alma.retrieve("Test the login form", "hal", top_k=2).recalled[-1]

    assert told.reason is Reason.BELOW_LAST
    assert told.explanation is not None
    assert told.score_needed == last.score > told.explanation.score
    assert told.top_k_needed == len(new) + 1
    assert "top_k=4 would return it" in str(told)


def test_a_memory_that_is_not_similar_enough_to_be_scored(alma: ALMA, clock: ManualClock) -> None:
    for number in range(20):
        alma.learn("hal", f"Test the login form again number {number}", "failure", "by hand")
    clock.advance(days=300)
    far = alma.learn("hal", "The form of the bread", "success", "by hand")
    told = alma.explain_retrieval("Test the login form again", far.id, agent="hal", top_k=1)

    assert told.reason is Reason.NOT_A_CONTENDER
    assert told.explanation is not None
    assert told.score_needed is not None
    assert told.explanation.score > told.score_needed
    assert told.top_k_needed is not None
    assert far.id in alma.retrieve("Test the login form again", "hal", top_k=told.top_k_needed).ids
    assert far.id not in alma.retrieve("Test the login form again", "hal", top_k=told.top_k_needed - 1).ids


@pytest.mark.slow
def test_a_memory_of_a_large_scope_that_no_search_brings_up(alma: ALMA, clock: ManualClock) -> None:
    tasks = [f"Test the login form of shop {number}" for number in range(300)]
    tasks += [f"Bake {number} loaves of bread in the oven" for number in range(1_900)]
    alma.learn_many([{"agent": "hal", "task": task, "outcome": "success", "strategy_used": "by hand"} for task in tasks])
    clock.advance(days=200)
    others = [f"The form for holidays, and {number} other words about nothing of the kind" for number in range(8)]
    newer = [alma.learn("hal", text, "success", "by hand").id for text in others]
    told = {memory: alma.explain_retrieval("Test the login form", memory, agent="hal", top_k=1) for memory in newer}
    missing = next(one for one in told.values() if one.reason is Reason.NOT_A_CANDIDATE)

    assert missing.explanation is not None
    assert f"{missing.explanation.cosine:.3f}" in str(missing)
    assert missing.top_k_needed is not None
    assert missing.memory_id in alma.retrieve("Test the login form", "hal", top_k=missing.top_k_needed).ids


def test_without_an_agent_it_is_asked_as_the_owner_and_says_so(alma: ALMA) -> None:
    memory = alma.learn("hal", "Test the login form", "success", "by hand")
    preference = alma.add_user_preference("ursula", "tone", "short answers")

    told = alma.explain_retrieval(query="login form", memory_id=memory.id)
    assert (told.agent, told.is_owners_view, told.selected) == ("hal", True, True)
    assert str(told).endswith("(asked as its owner 'hal', since no agent was named)")
    assert alma.explain_retrieval(query="login form", memory_id=preference.id).selected


def test_a_selected_memory_is_told_by_its_factors(alma: ALMA) -> None:
    memory = alma.learn("hal", "Test the login form", "success", "by hand")
    told = alma.explain_retrieval(query="login form", memory_id=memory.id, agent="hal")
    item = alma.retrieve("login form", "hal", explain=True).recalled[0]

    assert str(told).startswith(
        f"Selected because: similarity={item.factors.similarity:.2f}, recency=1.00, success_rate=1.00, confidence=1.00"
    )
    assert told.explanation == item.explanation
    assert told.factors["recency"].weight == pytest.approx(0.3)
    assert RetrievalExplanation.from_json(told.to_json()) == told


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"query": ""}, ValidationError),
        ({"memory_id": ""}, ValidationError),
        ({"memory_id": "a\x00b"}, ValidationError),
        ({"memory_id": 7}, ValidationError),
        ({"top_k": -1}, ValidationError),
        ({"agent": ""}, ScopeViolationError),
    ],
)
def test_bad_input_is_refused(unchanging: ALMA, given_: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        unchanging.explain_retrieval(**{"query": "login", "memory_id": "m1", "agent": "a", **given_})


@dataclass(frozen=True)
class World:
    """A store of random memories under random rules, and one question about one of them."""

    rules: dict[str, dict[str, Any]]
    memories: list[tuple[str, str, int]]
    archived: set[int]
    wanted: int
    agent: str
    user: str | None
    query: str
    top_k: int


phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
rules = st.fixed_dictionaries(
    {},
    optional={
        "share_with": st.lists(st.sampled_from([*AGENTS, "*"]), max_size=2),
        "inherit_from": st.lists(st.sampled_from(AGENTS), max_size=2),
    },
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    memories = draw(st.lists(st.tuples(st.sampled_from([*AGENTS, *USERS]), phrases, st.integers(0, 60)), min_size=1, max_size=30))
    places = st.integers(0, len(memories) - 1)
    return World(
        rules=draw(st.dictionaries(st.sampled_from(AGENTS), rules, max_size=3)),
        memories=memories,
        archived=draw(st.sets(places, max_size=3)),
        wanted=draw(places),
        agent=draw(st.sampled_from(AGENTS)),
        user=draw(st.none() | st.sampled_from(USERS)),
        query=draw(phrases),
        top_k=draw(st.integers(1, 3)),
    )


def filled(alma: ALMA, world: World, clock: ManualClock) -> list[str]:
    """Stores the memories of a world, and gives their ids."""
    ids = []
    for owner, words, hours in world.memories:
        clock.advance(hours=hours)
        of_user = owner in USERS
        memory = (
            alma.add_user_preference(owner, "wish", words) if of_user else alma.learn(owner, words, hours % 2 == 0, "by hand")
        )
        ids.append(memory.id)
    return ids


def archive_exactly(alma: ALMA, memory_ids: list[str], *, before: int) -> None:
    """Forgets exactly these memories: what was archived since the journal had `before` records is restored."""
    alma.undo(to=before)
    alma.forget(memory_ids=memory_ids)


def without(world: World, told: RetrievalExplanation, ids: list[str]) -> World:
    """The world without the filter that was named."""
    owner, words, _ = world.memories[world.wanted]
    match told.reason:
        case Reason.SCOPE if owner in USERS:
            return replace(world, user=owner)
        case Reason.SCOPE:
            offered = [*world.rules.get(owner, {}).get("share_with", []), world.agent]
            return replace(world, rules={**world.rules, owner: {**world.rules.get(owner, {}), "share_with": offered}})
        case Reason.ARCHIVED:
            return replace(world, archived=world.archived - {world.wanted})
        case Reason.BELOW_FLOOR:
            return replace(world, query=words)
        case Reason.FOLDED:
            assert told.stands_for_it is not None
            return replace(world, archived=world.archived | {ids.index(told.stands_for_it)})
        case Reason.BELOW_LAST | Reason.NOT_A_CONTENDER:
            assert told.top_k_needed is not None
            return replace(world, top_k=told.top_k_needed)
    raise AssertionError(told)


@pytest.mark.slow
@settings(max_examples=60)
@given(world=worlds())
def test_removing_the_filter_that_is_named_lets_a_missing_memory_appear(new_place: NewPlace, world: World) -> None:
    """Several filters may keep one memory out. Each one that is named is gone once it is removed, and when none is left it is returned."""
    clock = ManualClock()
    place = new_place()
    ids: list[str] = []
    named: list[Reason] = []
    for _ in range(2 * len(world.memories) + 8):
        settings_ = {"clock": clock, "agents": world.rules}
        with place.open(**settings_) as alma:
            ids = ids or filled(alma, world, clock)
            archive_exactly(alma, [ids[number] for number in sorted(world.archived)], before=len(ids))
            question: dict[str, Any] = {"agent": world.agent, "user_id": world.user, "top_k": world.top_k}
            told = alma.explain_retrieval(world.query, ids[world.wanted], **question)
            found = alma.retrieve(world.query, **question)

            assert told.selected == (ids[world.wanted] in found.ids)
            if told.selected:
                item = found.recalled[found.ids.index(told.memory_id)]
                assert sum(part.product for part in told.factors.values()) == pytest.approx(item.score, abs=1e-9)
                return
            if named and told.reason is named[-1]:
                assert told.reason is Reason.FOLDED, "the filter that was removed is still named"
            named.append(told.reason)
            world = without(world, told, ids)
    pytest.fail(f"it never appeared: {named}")


def test_a_rule_is_explained_to_its_owner_if_no_agent_is_named(alma: ALMA) -> None:
    for number in range(3):
        alma.learn("vera", f"Test form {number}", "success", "by hand", task_type="forms")
    (rule,) = alma.list_memories("heuristic")

    told = alma.explain_retrieval("Test form 9", rule.id, task_type="forms")

    assert (told.selected, told.is_owners_view, told.agent) == (True, True, "vera")
