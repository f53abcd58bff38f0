"""Whatever agents write, in whatever order and whatever text: only errors of ALMA, and what others did moves nothing of mine."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA, AlmaError
from alma.testing import FixedClock
from alma_testing.contracts.texts import storable_texts
from facade import Place, StoredIn

Step = Callable[[ALMA, str], object]
"""Does something in a memory as an agent."""

ODD = ("", " ", "\x00", "a\x00b", "\ud800", "\udfff tail", "\u202eevil", "\U0010ffff", "\\u0000", "x" * 200_001, "word " * 400)
raw_texts = st.one_of(
    storable_texts,
    storable_texts,
    st.text(max_size=30),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Co", "Zl", "Zp"]), min_size=1, max_size=8),
    st.sampled_from(ODD),
)
"""Any text at all: halves of surrogate pairs, NUL, changes of direction, huge."""

VERDICTS = ("success", "failure", "partial", "unverified")
NUMBERS = count()
RULES: dict[str, Any] = {
    "ann": {"inherit_from": ["bob"]},
    "bob": {},
    "eve": {"inherit_from": ["ann"], "share_with": []},
    "zoe": {"share_with": ["ann"]},
}


def opened(place: Place, project: str, clock: FixedClock) -> ALMA:
    return place.open(project_id=project, agents=RULES, embedding_dim=16, clock=clock)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> Place:
    folder = tmp_path_factory.mktemp("histories")
    return Place(folder, stored_in(folder))


@pytest.fixture(scope="module")
def store(place: Place) -> Iterator[ALMA]:
    """A store in which each example takes projects of its own; whole after all of them."""
    with opened(place, "first", FixedClock()) as alma:
        yield alma
        assert alma.verify().ok


def new_project(store: ALMA) -> ALMA:
    return store.for_project(f"project {next(NUMBERS)}")


def attempt(step: Step, alma: ALMA, agent: str) -> None:
    """Does a step; what ALMA refuses is left undone."""
    try:
        step(alma, agent)
    except AlmaError:
        return


def learned(task: str, verdict: str | bool, way: str, more: str) -> Step:
    fields: dict[str, Any] = {"strategy_used": way, "error_message": more, "feedback": way, "metadata": {more: way}}
    return lambda alma, agent: alma.learn(agent, task, verdict, **fields)


def used(task: str) -> Step:
    def use(alma: ALMA, agent: str) -> None:
        found = alma.retrieve(task, agent)
        alma.record_usage([*found.ids, task], [*found.ids[:1], task], agent=agent)
        for memory_id in found.ids[:1]:
            alma.record_feedback(memory_id, signal="thumbs_up", agent=agent)

    return use


def tried(task: str, action: str, verdict: str) -> Step:
    def attempt_it(alma: ALMA, agent: str) -> None:
        with alma.episode(agent, task) as episode:
            episode.step(action, error=action)
            episode.end(verdict, feedback=action)

    return attempt_it


def forgotten(task: str) -> Step:
    def forget(alma: ALMA, agent: str) -> None:
        own = [memory.id for memory in alma.retrieve(task, agent) if memory.agent == agent]
        alma.forget(agent, memory_ids=own[:1])

    return forget


def steps_with(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Step]:
    """A step that writes, with texts of this sort everywhere that a caller has a say."""
    verdicts = st.sampled_from(VERDICTS)
    return st.one_of(
        st.builds(learned, texts, verdicts | st.booleans(), texts, texts),
        st.builds(lambda a, b: lambda alma, agent: alma.add_heuristic(agent, a, b), texts, texts),
        st.builds(lambda a, b: lambda alma, agent: alma.add_domain_knowledge(agent, a, b), texts, texts),
        st.builds(lambda a, b: lambda alma, agent: alma.add_anti_pattern(agent, a, b, a), texts, texts),
        st.builds(lambda a, b: lambda alma, agent: alma.add_user_preference(agent, a, b), texts, texts),
        st.builds(used, texts),
        st.builds(tried, texts, texts, verdicts),
        st.builds(forgotten, texts),
    )


def seen_by(alma: ALMA, agent: str, question: str, **how: Any) -> tuple[str, str]:
    """A slice as JSON and as a prompt, with every number in it."""
    found = alma.retrieve(question, agent, user_id=agent, top_k=50, explain=True, **how)
    return found.to_json(), found.to_prompt(500)


@settings(max_examples=40)
@given(steps=st.lists(steps_with(raw_texts), max_size=5), question=raw_texts, agent=st.sampled_from(["ann", "bob"]) | raw_texts)
def test_no_text_makes_anything_but_an_error_of_alma(store: ALMA, steps: list[Step], question: str, agent: str) -> None:
    alma = new_project(store)
    for step in steps:
        attempt(step, alma, agent)
    attempt(lambda alma, agent: alma.retrieve(question, agent, user_id=question or None).to_prompt(), alma, agent)


some_steps = st.lists(steps_with(storable_texts), min_size=1, max_size=3)
by_a_stranger = st.tuples(st.just("sam"), some_steps)
by_a_reader = st.tuples(
    st.just("eve"),  # what she says of memories that she reads counts for all who read them
    st.lists(
        st.builds(learned, storable_texts, st.sampled_from(VERDICTS), storable_texts, storable_texts), min_size=1, max_size=3
    ),
)


@pytest.mark.slow
@settings(max_examples=20)
@given(mine=some_steps, theirs=some_steps, agent=st.sampled_from(["ann", "eve"]), question=storable_texts)
def test_what_is_done_in_another_project_changes_no_byte_of_what_i_recall(
    store: ALMA, mine: list[Step], theirs: list[Step], agent: str, question: str
) -> None:
    alma, other = new_project(store), new_project(store)
    for step in mine:
        attempt(step, alma, "ann")
    before = seen_by(alma, "ann", question)
    for step in theirs:
        attempt(step, other, agent)
    assert seen_by(alma, "ann", question) == before


@pytest.mark.slow
@settings(max_examples=20)
@given(mine=some_steps, theirs=by_a_stranger | by_a_reader, question=storable_texts)
def test_what_an_agent_does_that_i_cannot_read_is_not_seen_and_moves_nothing_in_the_search_by_meaning(
    store: ALMA, mine: list[Step], theirs: tuple[str, list[Step]], question: str
) -> None:
    """By words it may: how rare a word is, is counted over the project."""
    alma = new_project(store)
    for step in mine:
        attempt(step, alma, "ann")
    before = seen_by(alma, "ann", question, arms=("dense",))
    agent, steps = theirs
    for step in steps:
        attempt(step, alma, agent)
    assert seen_by(alma, "ann", question, arms=("dense",)) == before
    found = alma.retrieve(question, "ann", user_id="ann", top_k=50)
    assert {memory.agent for memory in found if memory.kind != "user_preference"} <= {"ann"}


@settings(max_examples=15)
@given(mine=steps_with(storable_texts), theirs=storable_texts)
def test_what_is_shared_with_me_is_seen_and_only_that(store: ALMA, mine: Step, theirs: str) -> None:
    alma = new_project(store)
    attempt(mine, alma, "ann")
    shared = alma.learn("zoe", theirs, "success")
    hidden = alma.learn("eve", f"{theirs} too", "success")
    found = alma.retrieve(theirs, "ann", top_k=50)
    assert shared.id in found.ids
    assert hidden.id not in found.ids
    assert {memory.agent for memory in found} <= {"ann", "zoe"}


@settings(max_examples=10)
@given(steps=st.lists(steps_with(storable_texts), min_size=1, max_size=4), question=storable_texts, hours=st.integers(0, 2000))
def test_a_memory_opened_again_recalls_the_same_bytes(
    store: ALMA, place: Place, steps: list[Step], question: str, hours: int
) -> None:
    alma = new_project(store)
    for step in steps:
        attempt(step, alma, "ann")
    later = FixedClock()
    later.advance(hours=hours)
    seen = []
    for _ in range(2):
        with opened(place, alma.project_id, later) as again:
            seen.append(seen_by(again, "ann", question))
    assert seen[0] == seen[1]
