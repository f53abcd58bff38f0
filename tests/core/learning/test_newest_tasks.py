"""Whether there may be a rule near a question is seen by the newest tasks alone, whenever else older ones are tried again."""

from hypothesis import given
from hypothesis import strategies as st

from alma.evidence import Tally
from alma.learning.consulting import may_be_rules
from alma.learning.experience import Question
from alma.learning.ledger import Entry, Side
from alma.learning.pooling import NEAR
from alma.learning.standing import Needed
from alma.types.evidence import Evidence, evidence_id, task_place, text_key

CELLS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=24,
    unique_by=lambda cell: cell[:2],
)
"""A task, a strategy, successes and failures. Every third task is of another type."""


def side_of(cells: list[tuple[int, int, int, int]]) -> Side:
    side = Side(None, 8)
    for number, (task, way, successes, failures) in enumerate(cells):
        strategy, whole = f"Way {way}", Tally(successes, successes + failures)
        place = task_place("chores" if task % 3 else "repairs", f"Task {task}", is_step=False, is_trusted=True)
        cell = evidence_id("dev", place, text_key(strategy))
        seen = Evidence(cell, "dev", place, text_key(strategy), strategy, whole, whole, task=f"Task {task}")
        side.put(Entry(seen, None, (number, None)), {})
    return side


def by_each_cell(side: Side, question: Question, needed: Needed, *, newest: int, home: int) -> bool:
    first = min(max(len(side.tasks) - newest, 0), home)
    weights = side.nearness(question, first=first).weights
    near = [one.evidence.lifetime for one in side.held if (task := side.task_of(one)) >= first and weights[task - first] >= NEAR]
    successes, failures = sum(one.successes for one in near), sum(one.failures for one in near)
    return successes >= needed.successes or failures >= needed.failures


@given(CELLS, st.integers(0, 23), st.integers(1, 14), st.integers(1, 6))
def test_it_is_what_all_cells_of_the_newest_tasks_say(
    cells: list[tuple[int, int, int, int]], asked: int, newest: int, least: int
) -> None:
    side = side_of(cells)
    entry = side.held[asked % len(cells)]
    question, home, needed = side.question_of(entry), side.task_of(entry), Needed(successes=least, failures=least + 1)
    expected = by_each_cell(side, question, needed, newest=newest, home=home)
    assert may_be_rules(side, question, needed, newest=newest, home=home) is expected
