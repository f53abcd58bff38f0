"""What learning joins depends on what was said, not on the order in which rows or texts came."""

import io
from collections.abc import Callable, Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.embedding import create_embedder
from facade import OpenStore
from learned import counts

NUMBERS = count()
MODEL = create_embedder("hash")
SERVICES = [f"Restart service {letter}" for letter in "abcdefghijklmnopqrst"]

Again = Callable[[ALMA, OpenStore], ALMA]


def reopened(alma: ALMA, open_store: OpenStore) -> ALMA:
    alma.close()
    return open_store()


def imported(alma: ALMA, open_store: OpenStore) -> ALMA:
    file = io.BytesIO()
    alma.export(file)
    file.seek(0)
    other = open_store("another")
    other.import_from(file)
    return other


def unchanged(alma: ALMA, open_store: OpenStore) -> ALMA:
    return alma


@pytest.mark.parametrize("again", [unchanged, reopened, imported])
def test_a_task_in_equal_words_is_one_task_whenever_it_came(open_store: OpenStore, again: Again) -> None:
    alma = open_store()
    named = "Deploy the billing queue"
    for _ in range(2):
        alma.learn("dev", named, "success", "by hand")
    alma = again(alma, open_store)
    alma.learn("dev", f"{named.upper()}!", "success", "By hand!")

    (row,) = alma.strategies(named, "dev")

    assert (row.trials, row.tasks) == (3, 1)
    assert alma.verify().ok


OUTCOMES = [
    ("Deploy the auth service", "blue-green", True),
    ("deploy the auth service!", "Blue-green", False),
    ("Deploy the billing service", "rolling update", False),
    ("Deploy the auth service", "rolling update", False),
    ("Deploy the auth service", "blue-green", True),
    ("Deploy the billing service", "blue-green", True),
    ("Deploy the cart service", "blue-green", True),
    ("Deploy the cart service", "rolling update", False),
]


def known_of(alma: ALMA) -> object:
    rows = alma.strategies("Deploy the mail service", "dev", task_type="deploy")
    return counts(alma), [(row.trials, row.successes, row.tasks, row.rule) for row in rows]


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(order=st.permutations(OUTCOMES))
def test_what_is_counted_does_not_depend_on_the_order_in_which_it_came(
    alma: ALMA, order: Sequence[tuple[str, str, bool]]
) -> None:
    known = []
    for told in (OUTCOMES, order):
        project = alma.for_project(f"order {next(NUMBERS)}")
        for task, strategy, outcome in told:
            project.learn("dev", task, outcome, strategy, task_type="deploy")
        known.append(known_of(project))
    assert known[0] == known[1]
