"""Facts and preferences of a slice that contradict each other."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from alma import ALMA, DomainKnowledge, MemorySlice
from alma.testing import FixedClock
from alma.types import Reason
from alma.types.recalled import CONTRADICTED
from facade import StoredIn

QUESTION = "How long is the checkout timeout?"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def alma(tmp_path: Path, clock: FixedClock, stored_in: StoredIn) -> Iterator[ALMA]:
    rules = {"lead": {"share_with": ["dev"]}}
    with ALMA.open(
        tmp_path, project_id="shop", embedding_provider="hash", clock=clock, agents=rules, **stored_in(tmp_path)
    ) as alma:
        yield alma


def fact(alma: ALMA, clock: FixedClock, seconds: int, **fields: str) -> DomainKnowledge:
    clock.advance(days=1)
    text = f"The checkout timeout is {seconds} s"
    return alma.add_domain_knowledge(**{"agent": "dev", "domain": "billing", "fact": text, **fields})


def test_the_newer_fact_comes_first_and_the_other_is_marked(alma: ALMA, clock: FixedClock) -> None:
    old, new = fact(alma, clock, 30), fact(alma, clock, 60)

    found = alma.retrieve(QUESTION, "dev")

    assert found.ids == [new.id, old.id]
    (pair,) = found.contradictions
    assert pair.ids == (new.id, old.id)
    assert (pair.sort, pair.preferred_value, pair.other_value, pair.why) == ("value", "60 s", "30 s", "newer")
    assert pair.reason == "they state different values (60 s, 30 s); the first is preferred: it is newer"
    first, second = (line for line in found.to_prompt().splitlines() if line.startswith("["))
    assert "otherwise" not in first
    assert second.endswith("(a newer note says otherwise)")


def test_another_port_is_another_value(alma: ALMA, clock: FixedClock) -> None:
    ports = [fact(alma, clock, 0, fact=f"The API listens on port {port}") for port in (8080, 9090)]

    (pair,) = alma.retrieve("On which port does the API listen?", "dev").contradictions
    assert pair.ids == (ports[1].id, ports[0].id)


def test_a_better_source_comes_before_a_newer_one(alma: ALMA, clock: FixedClock) -> None:
    stated, noted = fact(alma, clock, 30), fact(alma, clock, 60, source="noted_by_agent")

    found = alma.retrieve(QUESTION, "dev")

    assert found.ids == [stated.id, noted.id]
    assert found.contradictions[0].why == "better sourced"
    assert "(a better-sourced note says otherwise)" in found.to_prompt()


def test_verified_leaves_the_other_one_out_and_says_so(alma: ALMA, clock: FixedClock) -> None:
    old, new = fact(alma, clock, 30), fact(alma, clock, 60)

    found = alma.retrieve(QUESTION, "dev", verified=True)

    assert found.ids == [new.id]
    assert [(pair.ids, pair.is_left_out) for pair in found.contradictions] == [((new.id, old.id), True)]
    told = alma.explain_retrieval(QUESTION, old.id, "dev", verified=True)
    assert (told.reason, told.stands_for_it) == (Reason.CONTRADICTED, new.id)
    assert f"{new.id} contradicts it and is newer" in str(told)
    assert alma.explain_retrieval(QUESTION, old.id, "dev").selected


def test_what_only_a_contradicted_fact_contradicts_stays(alma: ALMA, clock: FixedClock) -> None:
    on = alma.add_domain_knowledge("dev", "billing", "The checkout cache is enabled")
    clock.advance(days=1)
    off = alma.add_domain_knowledge("dev", "billing", "The checkout cache is disabled")
    clock.advance(days=1)
    again = alma.add_domain_knowledge("dev", "billing", "The checkout cache is enabled now")

    found = alma.retrieve("Is the checkout cache enabled?", "dev", verified=True)

    assert set(found.ids) == {on.id, again.id}
    whys = {pair.ids: pair.why for pair in found.contradictions}
    assert whys == {(again.id, off.id): "newer", (on.id, off.id): "uncontradicted"}


def test_facts_of_two_agents_and_preferences_of_two_users_do_not_contradict_each_other(alma: ALMA, clock: FixedClock) -> None:
    fact(alma, clock, 30)
    fact(alma, clock, 60, agent="lead")
    alma.add_user_preference("mia", "style", "Indent by 4 columns")
    alma.add_user_preference("tom", "style", "Indent by 2 columns")

    found = alma.retrieve(QUESTION, "dev", user_id="mia")

    assert found.total_items == 3
    assert found.contradictions == ()


def test_the_newer_preference_comes_first(alma: ALMA, clock: FixedClock) -> None:
    alma.add_user_preference("mia", "style", "Indent by 4 columns")
    clock.advance(timedelta(days=1))
    new = alma.add_user_preference("mia", "style", "Indent by 2 columns")

    found = alma.retrieve("Indent the file by 4 columns", "dev", user_id="mia")

    assert [memory.preference for memory in found.preferences] == ["Indent by 2 columns", "Indent by 4 columns"]
    assert found.contradictions[0].preferred_id == new.id


def test_at_a_past_moment_the_former_fact_stands_alone(alma: ALMA, clock: FixedClock) -> None:
    old = fact(alma, clock, 30)
    then = clock()
    fact(alma, clock, 60)

    found = alma.retrieve(QUESTION, "dev", as_of=then)

    assert (found.ids, found.contradictions) == ([old.id], ())


def test_the_mark_is_never_stored_nor_believed_from_metadata(alma: ALMA, clock: FixedClock) -> None:
    claimed = {CONTRADICTED: {"by": "x", "why": "newer"}}
    alma.add_domain_knowledge("dev", "billing", "The checkout timeout is 30 s", metadata=claimed)

    (memory,) = alma.retrieve(QUESTION, "dev")

    assert CONTRADICTED not in memory.metadata
    fact(alma, clock, 60)
    marked = alma.retrieve(QUESTION, "dev").domain_knowledge[1]
    assert marked.metadata[CONTRADICTED]["why"] == "newer"
    assert alma.get(marked.id).metadata == claimed


def test_a_slice_with_contradictions_survives_json_and_a_budget(alma: ALMA, clock: FixedClock) -> None:
    fact(alma, clock, 30)
    fact(alma, clock, 60)
    found = alma.retrieve(QUESTION, "dev")

    assert MemorySlice.from_json(found.to_json()) == found
    assert found.fitting(70).contradictions == found.contradictions
    assert str(found.contradictions[0]).startswith("“The checkout timeout is 60 s” against “The checkout timeout is 30 s”: ")
