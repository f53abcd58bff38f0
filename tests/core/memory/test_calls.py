"""The calls of the public API, as the reference writes them."""

from datetime import UTC, datetime

import pytest

from alma import (
    ALMA,
    AntiPattern,
    ConflictError,
    DomainKnowledge,
    Draft,
    FeedbackSignal,
    Heuristic,
    MemoryNotFoundError,
    MemorySlice,
    MemoryType,
    Outcome,
    Passage,
    UserPreference,
    Verdict,
)
from facade import START, ManualClock, contents, held, refused


def test_an_outcome_that_was_learned_is_retrieved_for_a_like_task(alma: ALMA) -> None:
    alma.learn(
        agent="helena",
        task="Test login form",
        outcome="success",
        strategy_used="Tested empty fields, invalid email, valid submission",
    )
    memories = alma.retrieve(task="Test the login form validation", agent="helena", top_k=5, user_id=None, include_shared=True)
    assert isinstance(memories, MemorySlice)
    assert memories.total_items == len(memories) == 1
    assert memories.outcomes[0].strategy_used == "Tested empty fields, invalid email, valid submission"
    assert memories.heuristics == memories.anti_patterns == memories.domain_knowledge == memories.preferences == []
    assert "Tested empty fields, invalid email, valid submission: worked 1 of 1" in memories.to_prompt()
    assert memories.to_prompt(max_tokens=2000) == memories.to_prompt()


def test_learn_gives_the_outcome_with_everything_that_was_said(alma: ALMA) -> None:
    outcome = alma.learn(
        agent="helena",
        task="Deploy auth service",
        outcome="failure",
        strategy_used="kubectl apply",
        task_type="deployment",
        duration_ms=1500,
        error_message="ImagePullBackOff",
        feedback="too slow",
        metadata={"ticket": 7},
    )
    assert outcome == alma.get(outcome.id)
    assert outcome == Outcome(
        id=outcome.id,
        agent="helena",
        project_id="shop",
        metadata={"ticket": 7},
        confidence=1.0,
        created_at=START,
        updated_at=START,
        task_type="deployment",
        task_description="Deploy auth service",
        outcome=Verdict.FAILURE,
        strategy_used="kubectl apply",
        duration_ms=1500,
        error_message="ImagePullBackOff",
        user_feedback="too slow",
        timestamp=START,
    )
    assert not outcome.success


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("success", "success"),
        ("FAILURE", "failure"),
        (" Partial ", "partial"),
        ("Unverified", "unverified"),
        (True, "success"),
        (False, "failure"),
        (Verdict.PARTIAL, "partial"),
    ],
)
def test_an_outcome_is_told_in_any_case_or_as_true_or_false(alma: ALMA, word: str | bool, verdict: str) -> None:
    assert alma.learn(agent="a", task="t", outcome=word).outcome == verdict


def test_learn_takes_when_it_happened_and_a_naive_time_is_utc(alma: ALMA) -> None:
    happened = datetime(2025, 5, 4, 3, 2, 1)  # noqa: DTZ001 - naive on purpose
    assert alma.learn(agent="a", task="t", outcome="success", timestamp=happened).timestamp == happened.replace(tzinfo=UTC)


def test_every_kind_is_added_and_comes_back_under_its_name(alma: ALMA) -> None:
    preference = alma.add_user_preference(
        user_id="u", category="code_style", preference="Use strict mode", source="explicit_instruction"
    )
    knowledge = alma.add_domain_knowledge(
        agent="dev", domain="authentication", fact="API uses JWT with 24h expiry", source="user_stated"
    )
    warning = alma.add_anti_pattern(
        agent="dev",
        pattern="Using sleep() for async waits in the API",
        why_bad="Causes flaky tests, wastes time",
        better_alternative="Use explicit waits with conditions",
    )
    rule = alma.add_heuristic(agent="dev", condition="API answers 401", strategy="Renew the JWT, then retry the API once")
    outcome = alma.learn(agent="dev", task="Call the API with a JWT", outcome=True)
    memories = alma.retrieve(task="API JWT waits", agent="dev", user_id="u")
    assert memories.preferences == [preference]
    assert memories.domain_knowledge == [knowledge]
    assert memories.anti_patterns == [warning]
    assert memories.heuristics == [rule]
    assert memories.outcomes == [outcome]
    assert sorted(memories.ids) == sorted(memory.id for memory in (preference, knowledge, warning, rule, outcome))


def test_query_is_another_name_for_task(alma: ALMA) -> None:
    alma.add_domain_knowledge("dev", "http", "Pages are cached for an hour")
    assert alma.retrieve(query="cached pages", agent="dev") == alma.retrieve(task="cached pages", agent="dev")


def test_what_is_stated_counts_as_sure_and_what_is_guessed_as_less(alma: ALMA) -> None:
    assert alma.add_domain_knowledge("dev", "d", "a fact", "user_stated").confidence == 1.0
    assert alma.add_domain_knowledge("dev", "d", "a guess", "inferred").confidence == 0.8


def test_learn_many_stores_all_in_one_journal_record(alma: ALMA) -> None:
    items = [{"agent": "dev", "task": f"task {number}", "outcome": "success"} for number in range(50)]
    outcomes = alma.learn_many(items)
    assert contents(outcomes) == [item["task"] for item in items]
    assert held(alma)["total"] == 50
    assert held(alma)["journal_records"] == 1


def test_learn_many_and_add_many_take_generators_and_nothing_at_all(alma: ALMA) -> None:
    assert alma.learn_many([]) == []
    assert alma.add_many(()) == []
    assert held(alma)["journal_records"] == 0
    assert len(alma.learn_many({"agent": "dev", "task": f"t {n}", "outcome": True} for n in range(3))) == 3


def test_add_many_stores_memories_of_all_kinds_and_gives_their_ids_in_order(alma: ALMA) -> None:
    memories = [
        Heuristic(agent="dev", condition="c", strategy="s", occurrence_count=4, success_count=3),
        Outcome(agent="dev", task_description="t", outcome=Verdict.SUCCESS),
        UserPreference(user_id="u", category="c", preference="p"),
        DomainKnowledge(agent="dev", domain="d", fact="f"),
        AntiPattern(agent="dev", pattern="p", why_bad="w", occurrence_count=3),
    ]
    ids = alma.add_many(memories)
    assert ids == [memory.id for memory in memories]
    assert [alma.get(memory_id) for memory_id in ids] == [memory.model_copy(update={"project_id": "shop"}) for memory in memories]


def test_a_draft_is_found_by_the_passages_that_it_came_with(alma: ALMA) -> None:
    fact = DomainKnowledge(agent="dev", domain="talk", fact="A talk about plans")
    turns = (
        Passage(text="We fly to Lisbon", speaker="ann", position=0),
        Passage(text="In the month of October", speaker="bob", position=1),
    )
    alma.add_many([Draft(memory=fact, passages=turns)])
    assert alma.retrieve("Lisbon in October", "dev").ids == [fact.id]


def test_knowledge_takes_passages_to_be_searched_by(alma: ALMA) -> None:
    knowledge = alma.add_domain_knowledge("dev", "talk", "A talk", passages=[Passage(text="The parrot is called Quasimodo")])
    assert alma.retrieve("Quasimodo", "dev").ids == [knowledge.id]


def test_usage_counts_what_was_used_and_passes_over_the_rest(alma: ALMA) -> None:
    ids = [alma.add_heuristic("dev-agent", f"condition {n}", "strategy").id for n in range(3)]
    report = alma.record_usage(
        retrieved_memory_ids=ids, used_memory_ids=[ids[0], ids[2]], memory_type=MemoryType.HEURISTIC, agent="dev-agent"
    )
    assert (report.used, report.ignored, report.neutral, report.unknown) == ((ids[0], ids[2]), (ids[1],), (), ())


def test_unknown_ids_of_a_usage_are_returned_and_warned_about(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    before = held(alma)
    report = alma.record_usage(
        retrieved_memory_ids=["m1", "m2", "m3"],
        used_memory_ids=["m1", "m3"],
        memory_type=MemoryType.HEURISTIC,
        agent="dev-agent",
    )
    assert report.unknown == ("m1", "m2", "m3")
    assert (report.used, report.ignored, report.neutral) == ((), (), ())
    assert held(alma) == before
    (line,) = [record for record in caplog.records if record.name == "alma"]
    assert line.levelname == "WARNING"
    assert "'m1', 'm2', 'm3'" in line.getMessage()


def test_usage_without_a_used_list_is_neutral_and_writes_nothing(alma: ALMA) -> None:
    memory = alma.add_heuristic("dev", "c", "s")
    before = held(alma)
    report = alma.record_usage([memory.id], agent="dev")
    assert (report.used, report.ignored, report.neutral) == ((), (), (memory.id,))
    assert held(alma) == before


def test_what_was_used_but_not_shown_counts_as_used_and_once(alma: ALMA) -> None:
    memory = alma.add_heuristic("dev", "c", "s")
    assert alma.record_usage([], [memory.id, memory.id], agent="dev").used == (memory.id,)


@pytest.mark.parametrize("signal", [*FeedbackSignal, "thumbs_down"])
def test_feedback_is_recorded(alma: ALMA, signal: str) -> None:
    memory = alma.add_heuristic("dev-agent", "c", "s")
    before = held(alma)["journal_records"]
    alma.record_feedback(memory_id=memory.id, memory_type=MemoryType.HEURISTIC, signal=signal, agent="dev-agent")
    assert held(alma)["journal_records"] == before + 1
    assert alma.verify().ok


def test_feedback_on_an_unknown_memory_is_reported_and_logged_and_counts_nothing(
    alma: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    known = alma.add_heuristic("dev-agent", "c", "s")
    before = held(alma)
    report = alma.record_feedback("m1", MemoryType.HEURISTIC, FeedbackSignal.THUMBS_UP, "dev-agent")
    assert (report.counted, report.unknown) == ((), ("m1",))
    assert "record_feedback: 'dev-agent' sees no memories 'm1'" in caplog.text
    assert alma.record_feedback(known.id, signal="thumbs_up", agent="eve").unknown == (known.id,)
    assert held(alma) == before
    report = alma.record_feedback(known.id, signal="thumbs_up", agent="dev-agent")
    assert (report.counted, report.unknown) == ((known.id,), ())


def test_get_of_an_unknown_id_is_an_error_that_names_it(alma: ALMA) -> None:
    with pytest.raises(MemoryNotFoundError, match="'m1'"):
        alma.get("m1")


def test_an_id_that_is_taken_is_a_conflict_and_the_whole_batch_is_absent(alma: ALMA) -> None:
    taken = alma.add_heuristic("dev", "c", "s")
    batch = [
        Heuristic(agent="dev", condition="new", strategy="s"),
        Heuristic(id=taken.id, agent="dev", condition="c", strategy="s"),
    ]
    with refused(alma, ConflictError, taken.id):
        alma.add_many(batch)
    with pytest.raises(MemoryNotFoundError):
        alma.get(batch[0].id)


def test_the_same_id_twice_in_one_batch_is_a_conflict(alma: ALMA) -> None:
    memory = Heuristic(agent="dev", condition="c", strategy="s")
    with refused(alma, ConflictError, memory.id):
        alma.add_many([memory, memory])


def test_an_id_that_another_project_has_is_free_here(alma: ALMA) -> None:
    memory = Heuristic(agent="dev", condition="c", strategy="s")
    alma.for_project("other").add_many([memory])
    assert alma.add_many([memory]) == [memory.id]
    assert alma.get(memory.id).project_id == "shop"


def test_statistics_count_by_kind_and_by_agent(alma: ALMA, clock: ManualClock) -> None:
    alma.learn(agent="helena", task="t", outcome="success")
    clock.advance(days=1)
    alma.add_heuristic("victor", "c", "s")
    alma.add_user_preference("victor", "style", "short")
    stats = alma.get_stats()
    assert stats.project_id == "shop"
    assert stats.total == stats["total"] == 3
    assert stats.by_kind == {"heuristic": 1, "outcome": 1, "user_preference": 1}
    assert stats.by_agent == {"helena": {"outcome": 1}, "user:victor": {"user_preference": 1}, "victor": {"heuristic": 1}}
    assert stats.journal_records == 3
    assert stats.embedder == "hash"
    assert stats.database_bytes > 0
    assert (stats.oldest, stats.newest) == (START, clock.now)


def test_statistics_of_one_agent_count_what_it_owns(alma: ALMA) -> None:
    alma.learn(agent="helena", task="t", outcome="success")
    alma.add_heuristic("victor", "c", "s")
    alma.add_user_preference("victor", "style", "short", agent="helena")
    assert alma.get_stats(agent="victor").by_kind == {"heuristic": 1}
    assert alma.get_stats(agent="nobody").total == 0


def test_verify_reads_the_whole_store_and_finds_nothing_wrong(alma: ALMA) -> None:
    alma.learn(agent="helena", task="t", outcome="success")
    alma.for_project("other").add_heuristic("victor", "c", "s")
    before = held(alma)
    report = alma.verify()
    assert report.ok
    assert (report.projects, report.records, report.memories, report.vectors) == (2, 2, 2, 2)
    assert set(report.heads) == {"shop", "other"}
    assert held(alma) == before
