"""From outcomes to rules: what forms, in whatever order, what falls back, and what never counts."""

from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from facade import ManualClock, NewPlace, OpenStore
from learned import anti_patterns, counts, heuristics

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
    prompt = shown.to_prompt()
    assert f"[H1] {works.strategy}: worked 8 of 10 times" in prompt
    assert f"[A1] {fails.pattern}: failed 3 of 4 times" in prompt
    assert fails.better_alternative in prompt.partition("[A1]")[2]


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


def test_two_strategies_used_in_turn_both_form(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, [(BLUE_GREEN, "success", None), (ROLLING, "success", None)] * 10)
    assert {rule.strategy: rule.success_count for rule in heuristics(alma)} == {BLUE_GREEN: 10, ROLLING: 10}


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
    assert "it failed 2 of 2 times" in rule.why_bad
    assert rule.better_alternative is None


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


TEN_WORDINGS = (
    "blue-green deployment",
    "deploy blue-green",
    "a blue/green rollout",
    "used a blue-green deployment and switched the traffic",
    "blue-green release",
    "blue green deployment with a traffic switch",
    "switch traffic between blue and green",
    "roll out blue-green",
    "deployed the new version blue-green",
    "Blue-green: switch traffic once green is healthy",
)


@pytest.mark.slow
def test_twenty_successes_in_ten_wordings_on_four_services_are_a_heuristic_for_a_fifth(open_store: OpenStore) -> None:
    alma = open_store(embedding_provider="minilm")
    for number in range(20):
        service = ("auth", "billing", "cart", "search")[number % 4]
        alma.learn("dev", f"Deploy the {service} service to production", "success", TEN_WORDINGS[number % 10])

    first = alma.retrieve("Deploy the mail service to production", "dev").strategies[0]

    assert first.rule == "works"
    assert first.strategy in TEN_WORDINGS
    assert first.successes == first.trials >= 8


def followed(prompt: str) -> str:
    """The line that an agent follows blindly: that of [H1], else the first of a tag."""
    tagged = [line for line in prompt.splitlines() if line.startswith("[")]
    return next((line for line in tagged if line.startswith("[H1]")), tagged[0])


WAYS_TO_FOLLOW = ("blue-green", "rolling update", "by hand", "ask the vendor")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(WAYS_TO_FOLLOW), st.sampled_from(["success", "failure"])), min_size=1, max_size=25))
def test_an_agent_that_follows_the_prompt_blindly_does_what_the_first_row_of_the_table_says(
    alma: ALMA, history: list[tuple[str, str]]
) -> None:
    project = alma.for_project(f"followed {next(NUMBERS)}")
    for way, outcome in history:
        project.learn("dev", "Deploy the auth service", outcome, way)

    first = project.strategies("Deploy the auth service", "dev")[0]
    prompt = project.retrieve("Deploy the auth service", "dev").to_prompt()

    if 2 * first.successes > first.trials:
        assert followed(prompt).partition("] ")[2].startswith(f"{first.strategy}: worked {first.successes} of {first.trials}")
    elif all(row.successes == 0 for row in project.strategies("Deploy the auth service", "dev")):
        assert "nothing has mostly worked yet" in prompt


def test_a_partial_success_is_neither_a_success_nor_a_failure_and_half_of_one_in_the_estimate(
    alma: ALMA, clock: ManualClock
) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "partial", 5))
    (row,) = alma.strategies("Deploy the auth service", "dev")
    assert (row.successes, row.partials, row.failures, row.trials) == (0, 5, 0, 5)
    assert (row.rate, row.expected) == (0.5, 0.5)
    assert heuristics(alma) == anti_patterns(alma) == []


def test_what_nobody_judged_counts_nothing_but_is_kept(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "unverified", 9))
    (row,) = alma.strategies("Deploy the auth service", "dev")
    assert (row.unverified, row.trials) == (9, 0)
    learn_all(alma, clock, times(BLUE_GREEN, "success", 2))
    assert heuristics(alma) == []
    learn_all(alma, clock, times(BLUE_GREEN, "success", 1))
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(3, 3)]


def test_one_agents_outcomes_change_no_count_and_no_rule_of_another(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "success", 4))
    mine = (counts(alma, "dev"), heuristics(alma, "dev"), anti_patterns(alma, "dev"))
    for _ in range(9):
        alma.learn("eve", "Deploy the auth service", "failure", BLUE_GREEN, error_message="it burns")
        clock.advance(hours=1)
    assert (counts(alma, "dev"), heuristics(alma, "dev"), anti_patterns(alma, "dev")) == mine
    assert [rule.agent for rule in anti_patterns(alma)] == ["eve"]
    assert [rule.id for rule in mine[1]] == [m.id for m in alma.retrieve("Deploy the auth service", "dev").heuristics]


def test_what_does_better_on_task_after_task_is_likely_and_then_proven(alma: ALMA, clock: ManualClock) -> None:
    seen = set()
    for number in range(24):
        for strategy, succeeds in ((BLUE_GREEN, number != 1), (ROLLING, number == 1)):
            alma.learn("dev", f"Deploy service number {number}", succeeds, strategy, task_type="deploy")
            clock.advance(hours=1)
        found = alma.retrieve("Deploy another service", "dev", task_type="deploy")
        seen |= {rule.metadata["status"] for rule in (*found.heuristics, *found.anti_patterns)}
    assert seen == {"candidate", "likely", "proven"}
    assert {rule.metadata["status"] for rule in (*found.heuristics, *found.anti_patterns)} == {"proven"}
    assert {row.strategy: row.verdict for row in alma.strategies(agent="dev", task_type="deploy")} == {
        BLUE_GREEN: "works",
        ROLLING: "fails",
    }


def test_archiving_the_outcomes_behind_it_takes_nothing_from_a_rule_and_purging_them_does(alma: ALMA, clock: ManualClock) -> None:
    learn_all(alma, clock, times(BLUE_GREEN, "success", 4))
    (rule,) = heuristics(alma)
    outcomes = [one.id for one in alma.outcomes_behind(rule.id)]

    alma.forget(memory_ids=outcomes)
    assert heuristics(alma) == [rule]

    alma.purge(outcomes[:2])
    assert heuristics(alma) == []
    assert counts(alma) == {BLUE_GREEN: (2, 2)}
