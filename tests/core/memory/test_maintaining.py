"""Rules of forgetting: what each has go, in what order, what stays, and that it can be taken back."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from alma import ALMA, CustomMemoryType, DomainKnowledge, Heuristic, Outcome
from alma.errors import ConfigurationError
from alma.memory.admin import maintaining
from alma.types.reports import MaintenanceReport
from facade import START, ManualClock, OpenStore, held

NO_WINDOW = {"outcome": {"window": None}}


def outcomes(alma: ALMA, count: int, *, agent: str = "a", start: datetime = START) -> list[str]:
    """The ids of outcomes that happened an hour apart, oldest first. Nobody judged them, so no rule is formed."""
    return alma.add_many(
        Outcome(
            agent=agent,
            task_description=f"Task {number} of {agent}",
            task_type="testing",
            timestamp=start + timedelta(hours=number),
        )
        for number in range(count)
    )


def left(alma: ALMA, kind: str | None = None) -> set[str]:
    return {memory.id for memory in alma.list_memories(kind, limit=10_000)}


def told(report: MaintenanceReport) -> dict[tuple[str, str], int]:
    return {(rule.kind, rule.rule): rule.count for rule in report.rules}


def settings(**rules: Any) -> Mapping[str, Any]:
    return {"forgetting": {**NO_WINDOW, **rules}}


@pytest.mark.slow
def test_by_default_only_outcomes_beyond_ten_thousand_an_agent_go_the_oldest_first(alma: ALMA, clock: ManualClock) -> None:
    old = [*outcomes(alma, 10_003), *outcomes(alma, 4, agent="b")]
    sure = alma.add_domain_knowledge("a", "ops", "It runs on host one")
    alma.add_user_preference("u", "style", "Strict mode")
    clock.advance(days=20_000)
    report = alma.maintain()
    assert told(report) == {("outcome", "window"): 3}
    assert report.rules[0].by_owner == {"a": 3}
    assert set(report.rules[0].memory_ids) == set(old[:3])
    assert alma.get(sure.id) == sure
    assert alma.get_stats().total == 10_000 + 4 + 2
    assert alma.maintain().total == 0
    assert alma.verify().ok


def test_a_rule_of_age_takes_what_was_last_seen_before_of_its_kind_alone(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store(**settings(outcome={"window": None, "max_age_days": 30}, user_preference={"max_age_days": 300}))
    old, fresh = outcomes(alma, 2), outcomes(alma, 1, start=START + timedelta(days=31))
    kept = alma.add_heuristic("a", "On deploy", "Go blue-green")
    preference = alma.add_user_preference("u", "style", "Strict mode")
    clock.advance(days=60)
    report = alma.maintain()
    assert told(report) == {("outcome", "max_age_days"): 2}
    assert (report.rules[0].limit, set(report.rules[0].memory_ids)) == (30, set(old))
    assert left(alma) == {*fresh, kept.id, preference.id}
    clock.advance(days=300)
    assert alma.maintain().rules[-1].by_owner == {"user:u": 1}
    assert left(alma) == {kept.id}


def test_preferences_never_go_unless_they_are_named(open_store: OpenStore, clock: ManualClock) -> None:
    every = {"max_age_days": 1, "min_confidence": 1.0, "max_count": 1}
    kinds = ("heuristic", "outcome", "anti_pattern", "domain_knowledge")
    alma = open_store(forgetting=dict.fromkeys(kinds, every))
    for number in range(5):
        alma.add_user_preference("u", "style", f"Strict mode {number}", source="inferred")
    clock.advance(days=1000)
    assert alma.maintain().total == 0


def test_a_rule_of_confidence_takes_what_is_less_sure(open_store: OpenStore) -> None:
    alma = open_store(**settings(domain_knowledge={"min_confidence": 0.9}))
    alma.add_domain_knowledge("a", "ops", "It may run on host one", source="inferred")
    sure = alma.add_domain_knowledge("a", "ops", "It runs on host two", source="user_stated")
    assert told(alma.maintain()) == {("domain_knowledge", "min_confidence"): 1}
    assert left(alma) == {sure.id}


def test_a_rule_of_usefulness_takes_only_what_was_judged_often_enough(open_store: OpenStore) -> None:
    alma = open_store(**settings(heuristic={"min_usefulness": 0.95}))
    passed_over, seldom, used, unseen = (alma.add_heuristic("a", "On deploy", f"Way {number}").id for number in range(4))
    for round_number in range(10):
        alma.record_usage([passed_over, used, *([seldom] if round_number < 6 else [])], [used], agent="a")
    report = alma.maintain()
    assert told(report) == {("heuristic", "min_usefulness"): 1}
    assert left(alma) == {seldom, used, unseen}


def test_of_a_quota_the_least_valuable_go_for_each_owner(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store(**settings(heuristic={"max_count": 2}))

    def rules(agent: str) -> list[str]:
        return alma.add_many(
            Heuristic(
                agent=agent,
                condition=f"On deploy {number}",
                strategy="Go blue-green",
                occurrence_count=10,
                success_count=successes,
                last_validated=START - timedelta(days=days),
            )
            for number, (successes, days) in enumerate([(9, 0), (9, 300), (1, 0), (5, 20)])
        )

    good, old, poor, praised = rules("a")
    others = rules("b")
    for _ in range(5):
        alma.record_feedback(praised, signal="thumbs_up", agent="a")
    report = alma.maintain()
    assert report.rules[0].by_owner == {"a": 2, "b": 2}
    assert left(alma) == {good, praised, others[0], others[2]}
    assert {old, poor} < set(report.rules[0].memory_ids)


def test_the_quota_counts_what_the_other_rules_leave(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store(forgetting={"outcome": {"max_age_days": 1, "window": 4, "max_count": 3, "min_confidence": 0.5}})
    old = outcomes(alma, 3, start=START - timedelta(days=9))
    fresh = outcomes(alma, 6)
    unsure = alma.add_many([Outcome(agent="a", task_description="?", confidence=0.1, timestamp=START + timedelta(hours=9))])
    report = alma.maintain()
    assert told(report) == {
        ("outcome", "max_age_days"): 3,
        ("outcome", "min_confidence"): 1,
        ("outcome", "window"): 2,
        ("outcome", "max_count"): 1,
    }
    assert not left(alma) & {*old, *unsure, *fresh[:2]}
    assert len(left(alma)) == 3


def test_kinds_of_users_have_rules_of_their_own_and_a_misspelt_one_is_told(open_store: OpenStore, clock: ManualClock) -> None:
    kinds = {"note": {"max_count": 1}, "nots": {"max_count": 1}, "idle": {"max_count": 1}}
    alma = open_store(**settings(kinds=kinds))
    for name in ("note", "idle"):
        alma.register_memory_type(CustomMemoryType(name=name, fields={"said": str}, embedding_fields=["said"]))
    for number in range(3):
        alma.add("note", agent="a", said=f"Note {number}")
    report = alma.maintain()
    assert told(report) == {("note", "max_count"): 2}
    assert report.unknown_kinds == ("nots",)


def test_a_dry_run_tells_the_same_and_writes_nothing(open_store: OpenStore) -> None:
    alma = open_store(forgetting={"outcome": {"window": 2}})
    outcomes(alma, 5)
    before = held(alma)
    preview = alma.maintain(dry_run=True)
    assert (preview.seqs, preview.last_run_at, preview.due_at) == ((), None, None)
    assert held(alma) == before
    assert alma.maintain().rules == preview.rules


def test_a_run_is_one_record_that_undo_takes_back(open_store: OpenStore) -> None:
    alma = open_store(forgetting={"outcome": {"window": 2}})
    ids = outcomes(alma, 5)
    before = held(alma)
    report = alma.maintain()
    assert report.seqs == (before["journal_records"] + 1,)
    assert [entry.what for entry in alma.history(ids[0])] == ["made", "archived"]
    assert [entry.operation for entry in alma.history(ids[0])] == ["add_many", "maintain"]
    alma.undo(to=report.seqs[0] - 1)
    assert left(alma) == set(ids)
    assert alma.retrieve("Task 0", "a").total_items
    assert alma.verify().ok


@pytest.mark.slow
def test_a_large_run_is_done_in_parts_and_all_is_counted(open_store: OpenStore) -> None:
    alma = open_store(forgetting={"outcome": {"window": 1}})
    outcomes(alma, 2 * maintaining.PART + 2)
    report = alma.maintain()
    assert len(report.seqs) == 3
    assert report.total == 2 * maintaining.PART + 1
    assert len(report.rules[0].memory_ids) == 100
    assert alma.get_stats().total == 1
    assert alma.verify().ok


def test_the_window_leaves_what_outcomes_taught(open_store: OpenStore) -> None:
    alma = open_store(forgetting={"outcome": {"window": 2}})
    for _ in range(5):
        alma.learn("a", "Deploy the auth service", "success", "Go blue-green")
    (rule,) = alma.list_memories("heuristic")
    table = alma.strategies(agent="a")
    assert told(alma.maintain()) == {("outcome", "window"): 3}
    assert alma.get(rule.id) == rule
    assert alma.strategies(agent="a") == table
    alma.learn("a", "Deploy the auth service", "success", "Go blue-green")
    (grown,) = alma.list_memories("heuristic")
    assert isinstance(grown, Heuristic)
    assert (grown.id, grown.occurrence_count) == (rule.id, 6)


@pytest.mark.parametrize("limit", [{"max_age_days": 1}, {"min_confidence": 0.99}, {"min_usefulness": 1.0}])
def test_a_learned_rule_that_was_archived_stays_away_until_that_is_undone(open_store: OpenStore, limit: dict[str, float]) -> None:
    alma = open_store(**settings(heuristic=limit))
    for _ in range(5):
        alma.learn("a", "Deploy the auth service", "success", "Go blue-green", timestamp=START - timedelta(days=2))
    (rule,) = alma.list_memories("heuristic")
    for _ in range(2):
        alma.record_feedback(rule.id, signal="thumbs_down", agent="a")
    (name,) = limit
    assert told(alma.maintain(dry_run=True)) == {("heuristic", name): 1}
    report = alma.maintain()
    assert (told(report), report.rules[0].by_owner, report.rules[0].memory_ids) == (
        {("heuristic", name): 1},
        {"a": 1},
        (rule.id,),
    )
    assert alma.maintain().total == 0
    alma.learn("a", "Deploy the auth service", "success", "Go blue-green")
    assert alma.list_memories("heuristic") == []
    assert [row.trials for row in alma.strategies(agent="a")] == [6]
    alma.undo(to=report.seqs[0] - 1)
    assert [one.id for one in alma.list_memories("heuristic")] == [rule.id]
    assert alma.verify().ok


def test_no_quota_counts_what_was_learned(open_store: OpenStore) -> None:
    alma = open_store(**settings(heuristic={"max_count": 1}))
    for _ in range(3):
        alma.learn("a", "Deploy the auth service", "success", "Go blue-green")
    alma.add_heuristic("a", "Feed the cat", "Ask before")
    assert alma.maintain().total == 0
    assert len(alma.list_memories("heuristic")) == 2


def test_it_is_due_a_period_after_it_ran(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store(forgetting={"outcome": {"window": 1}})
    outcomes(alma, 2)
    first = alma.maintain(due_only=True)
    assert (first.ran, first.total, first.last_run_at, first.due_at) == (True, 1, None, START + timedelta(days=1))
    outcomes(alma, 2, start=START + timedelta(days=2))
    clock.advance(hours=23)
    before = held(alma)
    early = alma.maintain(due_only=True)
    assert (early.ran, early.rules, early.last_run_at, early.due_at) == (False, (), START, START + timedelta(days=1))
    assert held(alma) == before
    clock.advance(hours=1)
    late = alma.maintain(due_only=True)
    assert (late.ran, late.total, late.last_run_at) == (True, 2, START)


def test_on_the_last_day_of_the_calendar_it_runs_and_is_due_at_its_end(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store()
    clock.now = datetime.max.replace(tzinfo=clock.now.tzinfo, hour=1)
    alma.learn("a", "Deploy the shop", "success", "by hand")
    assert alma.maintain().due_at == datetime.max.replace(tzinfo=clock.now.tzinfo)
    assert not alma.maintain(due_only=True).ran


def test_a_run_that_was_noted_in_the_future_keeps_nothing_from_being_due(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store()
    clock.advance(days=400)
    alma.maintain()
    clock.advance(days=-300)
    assert alma.maintain(due_only=True).ran


@pytest.mark.parametrize("body", [{"at": 10**30}, {"at": "yesterday"}, {}])
def test_a_note_that_says_no_time_is_as_none(alma: ALMA, body: dict[str, Any]) -> None:
    with alma.storage.project(alma.project_id).write(actor="", operation="test", at=0) as write:
        write.put_record("maintenance", "last", body, version=0)
    assert alma.maintain(due_only=True).ran
    assert not alma.maintain(due_only=True).ran


def test_of_two_runs_that_begin_at_once_one_finds_it_done(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    alma, other = (open_store(forgetting={"outcome": {"window": 1}}) for _ in range(2))
    outcomes(alma, 5)
    reports = []
    choices = maintaining.choose

    def meanwhile(*given: Any) -> Any:
        found = choices(*given)
        monkeypatch.setattr(maintaining, "choose", choices)
        reports.append(other.maintain(due_only=True))
        return found

    monkeypatch.setattr(maintaining, "choose", meanwhile)
    late = alma.maintain(due_only=True)
    assert (reports[0].ran, reports[0].total) == (True, 4)
    assert (late.ran, late.total, late.last_run_at) == (False, 0, START)
    assert alma.get_stats().total == 1


def test_of_many_that_are_due_at_once_one_runs(open_store: OpenStore) -> None:
    stores = [open_store(forgetting={"outcome": {"window": 1}}) for _ in range(4)]
    outcomes(stores[0], 9)
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(lambda store: store.maintain(due_only=True), stores))
    assert sorted((report.ran, report.total) for report in reports) == [(False, 0)] * 3 + [(True, 8)]
    assert stores[0].verify().ok


def test_runs_of_many_threads_at_once_all_end_well(open_store: OpenStore) -> None:
    stores = [open_store(forgetting={"outcome": {"window": 1}}) for _ in range(2)]
    outcomes(stores[0], 9)
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(lambda turn: stores[turn % 2].maintain(), range(60)))
    assert all(report.ran for report in reports)
    assert sum(report.total for report in reports) == 8
    assert stores[0].verify().ok


@pytest.mark.parametrize("due_only", [False, True])
def test_a_run_that_is_forestalled_again_and_again_runs_in_the_end(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, due_only: bool
) -> None:
    choices, forestalled = maintaining.choose, []

    def meanwhile(*given: Any) -> Any:
        if len(forestalled) < 9:
            with alma.storage.project(alma.project_id).write(actor="", operation="test", at=0) as write:
                write.put_record("maintenance", "last", {"at": 0}, version=len(forestalled))
            forestalled.append(given)
        return choices(*given)

    monkeypatch.setattr(maintaining, "choose", meanwhile)
    assert alma.maintain(due_only=due_only).ran
    assert len(forestalled) == (9 if due_only else 1)


def test_what_went_while_it_was_being_chosen_is_not_counted(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    alma = open_store(forgetting={"outcome": {"window": 1}})
    first, second, third, _ = outcomes(alma, 4)
    choices = maintaining.choose

    def meanwhile(*given: Any) -> Any:
        found = choices(*given)
        alma.purge([first])
        alma.forget(memory_ids=[second])
        return found

    monkeypatch.setattr(maintaining, "choose", meanwhile)
    report = alma.maintain()
    assert [rule.memory_ids for rule in report.rules] == [(third,)]


def test_the_note_of_a_run_is_of_this_store_alone(open_store: OpenStore, tmp_path: object) -> None:
    alma, other = open_store(), open_store("other")
    alma.add_many([DomainKnowledge(agent="a", domain="ops", fact="It runs on host one")])
    for store in (alma, other):
        store.maintain()
    report = alma.export(f"{tmp_path}/all.jsonl")
    assert (report.counts.memories, report.counts.records) == (1, 0)
    other.import_from(f"{tmp_path}/all.jsonl")
    assert other.get_stats().total == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"outcomes": {}}, "forgetting.outcomes: unknown key, did you mean 'outcome'"),
        ({"outcome": {"windows": 3}}, "forgetting.outcome.windows: unknown key, did you mean 'window'"),
        ({"heuristic": {"window": 3}}, "forgetting.heuristic.window: unknown key"),
        ({"heuristic": {"max_age_days": 0}}, "forgetting.heuristic.max_age_days"),
        ({"heuristic": {"min_usefulness": 0.5}}, "forgetting.heuristic.min_usefulness"),
        ({"heuristic": None}, "forgetting.heuristic: is empty"),
        ({"kinds": {"outcome": {}}}, "forgetting.kinds: outcome is a built-in kind"),
        ({"kinds": {"note": {"max_cont": 1}}}, "forgetting.kinds.note.max_cont: unknown key, did you mean 'max_count'"),
        ([], "forgetting"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_name(open_store: OpenStore, given: Any, told: str) -> None:
    if given == []:
        given = ["outcome"]
    with pytest.raises(ConfigurationError) as caught:
        open_store(forgetting=given)
    assert told in str(caught.value)
