"""What failed as a step and as a whole is warned of once."""

from alma import ALMA
from facade import OpenStore

SERVICES = ("auth", "billing", "cart")


def fail(shop: ALMA, run: int) -> None:
    task = f"Deploy the {SERVICES[run]} service"
    with shop.episode(agent="dev", task=task, task_type="deploy", episode_id=f"run {run}") as episode:
        episode.step("deploy(way='rolling')", ok=False, error="ImagePullBackOff")
        episode.fail("ImagePullBackOff", strategy="deploy(way='rolling')")


def test_a_step_and_an_attempt_that_fail_alike_are_one_warning_and_the_other_says_why_it_is_left_out(
    open_store: OpenStore,
) -> None:
    shop = open_store()
    for run in range(3):
        fail(shop, run)
    for service in SERVICES:
        told = {"agent": "dev", "task": f"Deploy the {service} service", "task_type": "deploy"}
        shop.learn(**told, outcome="success", strategy_used="deploy(way='canary')")
    stored = {memory.id for memory in shop.list_memories("anti_pattern")}

    (warning,) = shop.retrieve(task="Deploy the auth service", agent="dev").anti_patterns

    assert (len(stored), warning.better_alternative) == (2, "deploy(way='canary')")
    (other,) = stored - {warning.id}
    told = shop.explain_retrieval("Deploy the auth service", other, agent="dev")
    assert str(told).startswith("Not selected because: ")


def test_a_warning_is_shown_for_tasks_like_its_own_and_not_for_others(open_store: OpenStore) -> None:
    shop = open_store()
    errors = {"Deploy the database": "no replica", "Migrate the customers": "lock timeout"}
    for task, error in errors.items():
        for number in range(3):
            told = {"agent": "dev", "task": f"{task} {number}", "task_type": task, "error_message": error}
            shop.learn(**told, outcome="failure", strategy_used="in one go")

    for task, error in errors.items():
        shown = shop.retrieve(task=f"{task} 7", agent="dev", task_type=task).anti_patterns
        assert [(warning.why_bad, warning.occurrence_count) for warning in shown] == [(error, 3)]
    assert shop.retrieve(task="Paint the fence", agent="dev").anti_patterns == []


def test_a_step_that_failed_where_it_did_not_work_at_once_is_no_warning_of_an_attempt_that_mostly_works(
    open_store: OpenStore,
) -> None:
    shop = open_store()
    for service in ("cart", "web", "docs", "mail"):
        task = f"Deploy the {service} service"
        shop.learn(
            agent="dev", task=task, task_type="deploy", outcome="success", strategy_used="look, then deploy(way='rolling')"
        )
    for service in SERVICES:
        with shop.episode(agent="dev", task=f"Deploy the {service} service", task_type="deploy") as episode:
            episode.step("deploy(way='rolling')", ok=False, error="ImagePullBackOff")
            episode.step("deploy(way='canary')", ok=True)
            episode.succeed(strategy="look, then deploy(way='canary')")

    found = shop.retrieve(task="Deploy the search service", agent="dev", task_type="deploy")

    assert [row.strategy for row in found.strategies if "rolling" in row.strategy] == ["look, then deploy(way='rolling')"]
    assert found.anti_patterns == []
