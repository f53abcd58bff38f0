"""What people who come from alma-memory write, as they write it. `docs/guides/migrating.md` maps what is not here."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConfigurationError, Heuristic, MemoryScope, MemorySlice, Outcome, UserPreference
from alma.protocols import Store
from facade import StoredIn


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        yield alma


def test_quickstart_opens_a_project(tmp_path: Path) -> None:
    with ALMA.quickstart("shop", tmp_path / "memory", agent="helena", embedding_provider="hash") as alma:
        assert alma.project_id == "shop"
        assert (tmp_path / "memory" / "alma.db").exists()


def test_quickstart_is_awaited_with_asyncio(tmp_path: Path) -> None:
    async def opened() -> str:
        async with AsyncALMA.quickstart("shop", tmp_path, embedding_provider="hash") as alma:
            await alma.add_knowledge("helena", "login", "Sessions last an hour")
            return (await alma.stats("helena"))["project_id"]

    assert asyncio.run(opened()) == "shop"


def test_the_short_names_store_what_the_long_ones_store(alma: ALMA) -> None:
    preference = alma.add_preference("maria", "style", "Short answers", agent="helena")
    fact = alma.add_knowledge("helena", "login", "Sessions last an hour", metadata={"page": 3})

    assert alma.get(preference.id) == preference
    assert alma.get(fact.id) == fact
    assert fact.metadata == {"page": 3}


def test_stats_has_the_counts_of_alma_memory(alma: ALMA) -> None:
    alma.learn("helena", "Test the form", "success", "By hand")
    alma.add_knowledge("helena", "login", "Sessions last an hour")

    found = alma.stats()
    assert found == alma.get_stats()
    assert (found["total_count"], found["outcomes_count"], found.get("domain_knowledge_count")) == (2, 1, 1)
    assert (found.get("heuristics_count"), found.get("embeddings_count", "none")) == (0, "none")
    with pytest.raises(KeyError, match="embeddings_count"):
        found["embeddings_count"]


def test_forget_is_a_number_for_whoever_wants_one(alma: ALMA) -> None:
    outcome = alma.learn("helena", "Test the form", "success", "By hand")
    assert int(alma.forget(memory_ids=[outcome.id])) == 1


def test_the_query_of_usage_and_feedback_is_accepted(alma: ALMA) -> None:
    outcome = alma.learn("helena", "Test the form", "success", "By hand")
    assert alma.record_usage([outcome.id], [outcome.id], "outcome", "helena", query="a form").used == (outcome.id,)
    assert alma.record_feedback(outcome.id, "outcome", "thumbs_up", "helena", query="a form").counted == (outcome.id,)


def test_a_slice_says_how_long_it_took_and_carries_its_hint(alma: ALMA) -> None:
    alma.learn("helena", "Test the form", "success", "By hand")
    found, empty = alma.retrieve("Test the form", "helena"), alma.retrieve("Test the form", "helen")

    assert found.retrieval_time_ms > 0
    assert found.metadata == {}
    assert "helena" in empty.metadata["hint"]
    assert found.to_prompt(500, model="gpt-4o") == found.to_prompt(500)


def test_slices_that_say_the_same_are_equal_however_long_they_took() -> None:
    quick, slow = (MemorySlice(query="a", retrieved_at=0, retrieval_time_ms=took) for took in (1, 9))
    assert quick == slow
    assert quick != MemorySlice(query="b", retrieved_at=0, retrieval_time_ms=1)
    assert MemorySlice.from_json(slow.to_json()) == quick


def test_a_slice_is_made_of_lists_of_memories() -> None:
    rule = Heuristic(agent="helena", condition="Forms", strategy="By hand")
    made = MemorySlice(heuristics=[rule], outcomes=[], preferences=None)
    assert made.heuristics == [rule]
    assert made.total_items == 1
    assert "[H1]" in made.to_prompt()
    with pytest.raises(ValueError, match="not both"):
        MemorySlice(heuristics=[rule], recalled=made.recalled)


def test_a_scope_answers_the_questions_of_alma_memory() -> None:
    scope = MemoryScope(agent_name="helena", can_learn=["testing"], cannot_learn=["backend"], inherit_from=["senior"])
    assert scope.is_allowed("Testing")
    assert not scope.is_allowed("backend")
    assert not scope.is_allowed("design")
    assert MemoryScope(cannot_learn=["backend"]).is_allowed("design")
    assert scope.get_readable_agents() == ["helena", "senior"]
    assert scope.can_read_from("senior")
    assert not scope.can_read_from("victor")


def test_a_configured_scope_knows_its_agent(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(
        tmp_path, project_id="shop", agents={"helena": MemoryScope(can_learn=["testing"])}, **stored_in(tmp_path)
    ) as alma:
        assert alma.agents["helena"].get_readable_agents() == ["helena"]


def test_a_scope_under_the_name_of_another_agent_is_refused(tmp_path: Path, stored_in: StoredIn) -> None:
    with pytest.raises(ConfigurationError, match=r"agents\.helena\.agent_name: 'victor'"):
        ALMA.open(tmp_path, project_id="shop", agents={"helena": MemoryScope(agent_name="victor")}, **stored_in(tmp_path))


@pytest.mark.parametrize(("success", "verdict"), [(True, "success"), (False, "failure")])
def test_an_outcome_is_made_with_success(success: bool, verdict: str) -> None:
    made = Outcome(agent="helena", task_description="Test", success=success, strategy_used="By hand", embedding=[0.1, 0.2])
    assert (made.outcome, made.success) == (verdict, success)


@pytest.mark.parametrize("given", [{"success": "yes"}, {"success": True, "outcome": "failure"}])
def test_success_is_a_truth_value_and_stands_alone(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="in place of outcome"):
        Outcome(task_description="Test", **given)


def test_an_embedding_is_dropped_from_every_kind() -> None:
    made = UserPreference(user_id="maria", category="style", preference="Short", embedding=None)
    assert "embedding" not in made.model_dump()


def test_the_modules_of_alma_memory_are_there(alma: ALMA) -> None:
    from alma.core import ALMA as FORMER
    from alma.exceptions import ALMAError, ScopeViolationError

    assert FORMER is ALMA
    assert issubclass(ScopeViolationError, ALMAError)
    store: Store = alma.storage
    assert store.project("shop").head() == 0


def test_the_fakes_of_alma_memory_are_there() -> None:
    from alma.testing import (
        MockEmbedder,
        create_test_anti_pattern,
        create_test_heuristic,
        create_test_knowledge,
        create_test_outcome,
        create_test_preference,
    )

    builders = (
        create_test_heuristic,
        create_test_outcome,
        create_test_preference,
        create_test_knowledge,
        create_test_anti_pattern,
    )
    assert {build(metadata={"a": 1}).metadata["a"] for build in builders} == {1}
    vector = MockEmbedder(32).encode("a form")
    assert len(vector) == 32
    assert MockEmbedder(32).encode_batch(["a form", "a form"]) == [vector, vector]


def test_house_keeping_stands_under_admin_too(alma: ALMA) -> None:
    outcome = alma.learn("helena", "Test the form", "success", "By hand")
    assert alma.admin.verify().ok
    assert alma.admin.forget(memory_ids=[outcome.id]).total == 1
    assert alma.admin.undo(to=1).seq == 3
    assert not hasattr(alma.admin, "learn")
