"""What failed as a step and as a whole is warned of once."""

from alma import ALMA
from facade import OpenStore


def fail(shop: ALMA, run: int) -> None:
    with shop.episode(agent="dev", task="Deploy the auth service", episode_id=f"run {run}") as episode:
        episode.step("deploy(way='rolling')", ok=False, error="ImagePullBackOff")
        episode.fail("ImagePullBackOff", strategy="deploy(way='rolling')")


def test_a_step_and_an_attempt_that_fail_alike_are_one_warning_and_the_other_says_why_it_is_left_out(
    open_store: OpenStore,
) -> None:
    shop = open_store()
    for run in range(3):
        fail(shop, run)
    for _ in range(2):
        shop.learn(agent="dev", task="Deploy the auth service", outcome="success", strategy_used="deploy(way='canary')")
    stored = {memory.id for memory in shop.list_memories("anti_pattern")}

    (warning,) = shop.retrieve(task="Deploy the auth service", agent="dev").anti_patterns

    assert (len(stored), warning.better_alternative) == (2, "deploy(way='canary')")
    (other,) = stored - {warning.id}
    told = shop.explain_retrieval("Deploy the auth service", other, agent="dev")
    assert (told.reason, told.stands_for_it) == ("folded", warning.id)


def test_warnings_of_unlike_tasks_are_both_shown(open_store: OpenStore) -> None:
    shop = open_store()
    for task, error in (("Deploy the database", "no replica"), ("Migrate the customers", "lock timeout")):
        for number in range(3):
            shop.learn(
                agent="dev",
                task=f"{task} {number}",
                task_type=task,
                outcome="failure",
                strategy_used="in one go",
                error_message=error,
            )

    shown = shop.retrieve(task="deploy the database and migrate the customers", agent="dev").anti_patterns

    assert {warning.why_bad for warning in shown} == {"no replica", "lock timeout"}
