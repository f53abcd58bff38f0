"""From outcomes to rules: what forms, in whatever order, what falls back, and what never counts."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from facade import ManualClock, NewPlace, OpenStore
from learned import anti_patterns, counts, evidence, heuristics

BLUE_GREEN, ROLLING = "blue-green deployment", "rolling update"
BLUE_GREEN_WORDS = ("Blue-green deployment", "blue green deployment", "Use a blue-green deployment", "Blue-green deployment!")
ROLLING_WORDS = ("Rolling update", "rolling updates", "Do a rolling update", "a rolling update")
ERRORS = (
    "2026-03-01T12:00:01 pod web-7f9c4 ImagePullBackOff: manifest for shop:1.4 not found",
    "pod web-11aa0 ImagePullBackOff: manifest for shop:1.5 not found after 31 s",
    "ImagePullBackOff: manifest for shop:2.0 not found (request 5d41402abc4b2a76)",
)

Told = tuple[str, str, str | None]
"""Strategy, outcome, error."""

TRIED: Sequence[Told] = (
    *((BLUE_GREEN_WORDS[n % 4], "success", None) for n in range(8)),
    *((BLUE_GREEN_WORDS[n % 4], "failure", "health check timed out") for n in range(2)),
    *((ROLLING_WORDS[n], "failure", ERRORS[n]) for n in range(3)),
    (ROLLING_WORDS[3], "success", None),
)
SERVICES = ("auth", "billing", "cart", "mail", "search", "stock", "tax")
NUMBERS = count()


def learn_all(alma: ALMA, clock: ManualClock, told: Sequence[Told], *, task: str = "Deploy the auth service") -> None:
    for strategy, outcome, error in told:
        alma.learn("dev", task, outcome, strategy, error_message=error)
        clock.advance(hours=1)


def times(strategy: str, outcome: str, number: int) -> list[Told]:
    return [(strategy, outcome, None)] * number


@pytest.fixture(scope="module")
def store(new_place: NewPlace) -> Iterator[tuple[ALMA, ManualClock]]:
    """A store with a real model, in which each example takes a project of its own; whole after all of them."""
    clock = ManualClock()
    with new_place().open(project_id="first", embedding_provider="minilm", clock=clock) as alma:
        yield alma, clock
        assert alma.verify().problems == ()


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(order=st.permutations([*enumerate(TRIED)]))
def test_in_any_order_and_wording_one_strategy_works_and_the_other_is_warned_of(
    store: tuple[ALMA, ManualClock], order: list[tuple[int, Told]]
) -> None:
    alma, clock = store[0].for_project(f"order {next(NUMBERS)}"), store[1]
    for number, (strategy, outcome, error) in order:
        alma.learn(
            "dev", f"Deploy the {SERVICES[number % 7]} service", outcome, strategy, error_message=error, task_type="deploy"
        )
        clock.advance(hours=1)

    assert (len(heuristics(alma)), len(anti_patterns(alma))) == (1, 1)
    shown = alma.retrieve("Deploy the auth service", "dev")
    (works,), (fails,) = shown.heuristics, shown.anti_patterns
    assert works.strategy in BLUE_GREEN_WORDS
    assert (works.success_count, works.occurrence_count) == (8, 10)
    assert fails.pattern in ROLLING_WORDS
    assert (fails.occurrence_count, fails.success_count) == (3, 1)
    assert "ImagePullBackOff" in fails.why_bad
    assert fails.better_alternative in BLUE_GREEN_WORDS
    assert "worked 8 of 10 times" in shown.to_prompt()


def test_eight_identical_successes_are_one_heuristic_of_eight(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "success", 8))
    (rule,) = heuristics(alma)
    assert (rule.success_count, rule.occurrence_count, rule.metadata["status"]) == (8, 8, "candidate")
    assert anti_patterns(alma) == []


@pytest.mark.parametrize(("successes", "failures", "status"), [(3, 2, "candidate"), (5, 3, "likely")])
def test_a_rule_is_likely_where_chance_seldom_makes_the_difference(
    alma: ALMA, successes: int, failures: int, status: str
) -> None:
    for way, verdict, number in ((BLUE_GREEN, "success", successes), (ROLLING, "failure", failures)):
        for service in range(number):
            alma.learn("dev", f"Deploy service number {way} {service}", verdict, way, task_type="deploy")
    (rule,) = heuristics(alma)
    assert rule.metadata["status"] == status


def test_a_rule_that_is_listed_says_on_how_many_tasks_it_rests_now(alma: ALMA) -> None:
    for number in range(1, 7):
        alma.learn("dev", f"Deploy service number {number}", "success", BLUE_GREEN, task_type="deploy")
        for rule in heuristics(alma):
            assert (rule.success_count, rule.metadata["tasks"]) == (number, number)
            assert alma.get(rule.id) == rule
    assert len(heuristics(alma)) == 1


def test_a_rule_that_is_listed_says_what_to_do_instead_as_soon_as_that_is_known(alma: ALMA) -> None:
    for number in range(3):
        alma.learn("dev", f"Deploy service number {number}", "failure", ROLLING, task_type="deploy", error_message="no route")
    (before,) = anti_patterns(alma)
    for number in range(3, 9):
        alma.learn("dev", f"Deploy service number {number}", "success", BLUE_GREEN, task_type="deploy")
    (after,) = anti_patterns(alma)
    assert before.better_alternative is None
    assert (after.id, after.better_alternative) == (before.id, BLUE_GREEN)


def test_what_does_better_on_task_after_task_is_likely_and_then_proven(alma: ALMA, clock: ManualClock) -> None:
    seen = []
    for number in range(24):
        is_exception = number == 1
        for strategy, succeeds in ((BLUE_GREEN, not is_exception), (ROLLING, is_exception)):
            alma.learn("dev", f"Deploy service number {number}", succeeds, strategy, task_type="deploy")
            clock.advance(hours=1)
        found = alma.retrieve("Deploy another service", "dev", task_type="deploy")
        seen.append([rule.metadata["status"] for rule in (*found.heuristics, *found.anti_patterns)])
    ranks = ["candidate", "likely", "proven"]
    works = [ranks.index(status[0]) for status in seen[3:]]
    assert works == sorted(works)
    assert "likely" in {status for some in seen for status in some}
    assert seen[-1] == ["proven", "proven"]
    assert {row.strategy: row.verdict for row in alma.strategies(agent="dev", task_type="deploy")} == {
        BLUE_GREEN: "works",
        ROLLING: "fails",
    }


def test_two_strategies_used_in_turn_both_form(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, [(BLUE_GREEN, "success", None), (ROLLING, "success", None)] * 10)
    assert {rule.strategy: rule.success_count for rule in heuristics(alma)} == {BLUE_GREEN: 10, ROLLING: 10}


def test_fifty_successes_then_five_failures_demote_at_the_fifth_and_successes_bring_it_back(
    alma: ALMA, clock: ManualClock
) -> None:
    """Of one class by its type, each time another task."""
    number = count()

    def learn(outcome: str) -> bool:
        task = f"Deploy service number {next(number)}"
        alma.learn("dev", task, outcome, BLUE_GREEN, task_type="deploying")
        clock.advance(minutes=5)
        return bool(heuristics(alma))

    assert [learn("success") for _ in range(50)][2:] == [True] * 48
    (rule,) = heuristics(alma)
    assert [learn("failure") for _ in range(5)] == [True, True, True, True, False]
    assert rule.id not in alma.retrieve("Deploy service number 7", "dev", top_k=20).ids
    demoted = alma.history(rule.id)[-1]
    assert (demoted.what, demoted.operation) == ("archived", "learn")
    assert demoted.changed["metadata"].new["status"] == "demoted"

    while not learn("success"):
        assert next(number) < 100
    (back,) = heuristics(alma)
    assert (back.id, back.occurrence_count - back.success_count) == (rule.id, 5)
    assert alma.history(rule.id)[-1].what == "brought back"
    assert back.id in alma.retrieve("Deploy service number 7", "dev", top_k=20).ids
    assert alma.verify().problems == ()


def test_an_agent_may_need_more_successes_than_another(open_store: OpenStore, clock: ManualClock) -> None:
    alma = open_store(agents={"careful": {"min_occurrences_for_heuristic": 5}, "quick": {"min_occurrences_for_heuristic": 2}})
    formed = {"careful": [], "quick": [], "unknown": []}  # type: dict[str, list[int]]
    for number in range(1, 7):
        for agent, found in formed.items():
            alma.learn(agent, "Deploy", "success", BLUE_GREEN)
            if heuristics(alma, agent):
                found.append(number)
        clock.advance(hours=1)
    assert {agent: found[0] for agent, found in formed.items()} == {"careful": 5, "quick": 2, "unknown": 3}


def test_a_partial_success_counts_half(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "partial", 5))
    assert counts(alma) == {BLUE_GREEN: (2.5, 5.0)}
    assert heuristics(alma) == anti_patterns(alma) == []
    learn_all(alma, clock, times(BLUE_GREEN, "success", 1))
    assert counts(alma) == {BLUE_GREEN: (3.5, 6.0)}


def test_what_nobody_judged_counts_nothing_but_is_numbered(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "unverified", 9))
    (seen,) = evidence(alma)
    assert (seen.unverified, seen.lifetime.trials, seen.operative.trials) == (9, 0.0, 0.0)
    learn_all(alma, clock, times(BLUE_GREEN, "success", 2))
    assert heuristics(alma) == []
    learn_all(alma, clock, times(BLUE_GREEN, "success", 1))
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(3, 3)]


def test_equal_events_beyond_five_in_a_minute_only_count_for_a_lifetime(alma: ALMA, clock: ManualClock) -> None:
    learn_all_at_once = [alma.learn("dev", "Deploy", "failure", ROLLING, error_message="no") for _ in range(9)]
    (seen,) = evidence(alma)
    assert len(learn_all_at_once) == 9
    assert seen.lifetime.trials == 9
    at_five = seen.operative
    assert at_five.trials == pytest.approx(sum(0.9**n for n in range(5)))

    clock.advance(seconds=59)
    alma.learn("dev", "Deploy", "failure", ROLLING, error_message="no")
    assert evidence(alma)[0].operative == at_five
    alma.learn("dev", "Deploy", "failure", ROLLING, error_message="another")  # no equal event
    clock.advance(seconds=1)
    alma.learn("dev", "Deploy", "failure", ROLLING, error_message="no")
    assert evidence(alma)[0].lifetime.trials == 12
    assert evidence(alma)[0].operative.trials == pytest.approx(sum(0.9**n for n in range(7)), abs=1e-4)


def test_an_anti_pattern_blocks_no_later_learn_of_anything(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(ROLLING, "failure", 5))
    (rule,) = anti_patterns(alma)
    before = alma.get_stats().by_kind["outcome"]
    for outcome in ("success", "failure", "partial", "unverified"):
        alma.learn("dev", "Deploy the auth service", outcome, ROLLING)
        alma.learn("dev", "Deploy the auth service", outcome, rule.why_bad)
        alma.learn("dev", rule.text, outcome, rule.text)
        alma.add_heuristic("dev", rule.text, ROLLING)
        alma.add_anti_pattern("dev", ROLLING, "It fails")
    with alma.episode(agent="dev", task="Deploy the auth service") as episode:
        episode.step(ROLLING, ok=True)
        episode.succeed(strategy=ROLLING)
    assert alma.get_stats().by_kind["outcome"] >= before + 13


def test_a_failure_without_any_message_makes_an_anti_pattern_that_says_so(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(ROLLING, "failure", 2))
    (rule,) = anti_patterns(alma)
    assert "no error was recorded" in rule.why_bad
    assert rule.better_alternative is None


def test_one_agents_outcomes_change_no_evidence_and_no_rule_of_another(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "success", 4))
    mine = (evidence(alma, "dev"), heuristics(alma, "dev"), anti_patterns(alma, "dev"))
    for _ in range(9):
        alma.learn("eve", "Deploy the auth service", "failure", BLUE_GREEN, error_message="it burns")
        clock.advance(hours=1)
    assert (evidence(alma, "dev"), heuristics(alma, "dev"), anti_patterns(alma, "dev")) == mine
    assert [rule.agent for rule in anti_patterns(alma)] == ["eve"]
    assert [rule.id for rule in mine[1]] == [m.id for m in alma.retrieve("Deploy the auth service", "dev").heuristics]


def test_what_is_older_than_what_is_known_weighs_less_and_changes_no_order(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "success", 3))
    before = evidence(alma)[0]
    alma.learn("dev", "Deploy the auth service", "failure", BLUE_GREEN, timestamp=clock.now - timedelta(days=900))
    after = evidence(alma)[0]
    assert after.lifetime.trials == 4
    assert after.operative.trials - before.operative.trials == pytest.approx(0.5**10, rel=0.01)
    assert after.observed_at == before.observed_at
    assert len(heuristics(alma)) == 1


def test_every_rule_is_linked_to_the_outcomes_that_it_rests_on(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, [*times(BLUE_GREEN, "success", 4), *times(ROLLING, "failure", 3)])
    alma.learn("dev", "Deploy the auth service", "success", "by hand")
    for rule, strategy in ((heuristics(alma)[0], BLUE_GREEN), (anti_patterns(alma)[0], ROLLING)):
        (linked,) = {entry.evidence for entry in alma.history(rule.id) if entry.evidence}
        rows = alma._room.project.learned.outcomes(linked, newest=100)
        outcomes = alma._room.project.memories(rows)
        assert len(rows) == {BLUE_GREEN: 4, ROLLING: 3}[strategy]
        assert {outcome.strategy_used for outcome in outcomes.values()} == {strategy}  # type: ignore[union-attr]


def test_the_alternative_is_named_when_it_comes_up_and_changes_with_the_evidence(alma: ALMA, clock: ManualClock) -> None:
    def instead(strategy: str, outcome: str, number: int) -> str | None:
        for service in SERVICES[:number]:
            alma.learn("dev", f"Deploy the {service} service", outcome, strategy, task_type="deploy")
            clock.advance(hours=1)
        warnings = alma.retrieve("Deploy the auth service", "dev", task_type="deploy").anti_patterns
        return {rule.pattern: rule.better_alternative for rule in warnings}[ROLLING]

    assert instead(ROLLING, "failure", 4) is None
    assert instead("canary release", "success", 5) == "canary release"
    assert instead("canary release", "failure", 4) is None
    assert instead(BLUE_GREEN, "success", 7) == BLUE_GREEN
    assert BLUE_GREEN in alma.retrieve("Deploy the auth service", "dev").to_prompt()


def test_what_worked_for_one_task_alone_is_no_alternative_yet(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, [*times(ROLLING, "failure", 9), *times(BLUE_GREEN, "success", 9)])
    (warning,) = alma.retrieve("Deploy the auth service", "dev").anti_patterns
    assert warning.better_alternative is None


def test_a_warning_that_was_demoted_tells_what_is_known_when_it_comes_back(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, [(ROLLING, "failure", "disk full"), (ROLLING, "failure", "disk full")])
    (rule,) = anti_patterns(alma)
    learn_all(alma, clock, times(ROLLING, "success", 3))
    assert anti_patterns(alma) == []
    learn_all(alma, clock, times(BLUE_GREEN, "success", 5))
    learn_all(alma, clock, [(ROLLING, "failure", "the manifest was not found")] * 6)

    (back,) = anti_patterns(alma)
    assert back.id == rule.id
    assert "manifest" in back.why_bad
    assert back.occurrence_count == 8
    assert back.metadata["status"] == "candidate"
    assert back.id in alma.retrieve("Deploy the auth service", "dev", top_k=9).ids
    assert alma.verify().problems == ()


def test_a_rule_that_forms_while_its_outcomes_are_stored_is_found_by_the_meaning_of_its_strategy(alma: ALMA) -> None:
    told = {"agent": "dev", "outcome": True, "strategy_used": "brush", "task_type": "painting"}
    alma.learn_many({**told, "task": f"Paint the fence {number}"} for number in range(4))
    found = alma.retrieve("brush", "dev", arms=("dense",), task_type="painting")
    assert "heuristic" in [memory.kind for memory in found]
