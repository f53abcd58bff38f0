"""A strategy beside which nothing was tried is judged by plain sums, which are those of the advice."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from alma.evidence import Tally
from alma.learning.consulting import Consulted, consulted
from alma.learning.ledger import Entry, Side
from alma.learning.levels import Row
from alma.learning.single_strategy import row_of_advice
from alma.types.evidence import Evidence, evidence_id, task_place, text_key

Cell = tuple[float, float, float, int, int]
"""Successes and failures, what is left of their weight, when the last one was, and which task it is of."""

CELLS = st.lists(
    st.tuples(
        st.integers(0, 9).map(lambda halves: halves / 2),
        st.integers(0, 9).map(lambda halves: halves / 2),
        st.floats(0.05, 1.0),
        st.integers(0, 5),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=24,
    unique_by=lambda cell: cell[4],
)


def side_of(cells: Sequence[Cell], strategies: Sequence[str]) -> Side:
    """One cell a task, each with the next of the strategies, all of one type."""
    side = Side(None, 8)
    for number, (successes, failures, left, at, task) in enumerate(cells):
        strategy, whole = strategies[number % len(strategies)], Tally(successes, successes + failures)
        place = task_place("chores", f"Task {task}", is_step=False, is_trusted=True)
        seen = Evidence(
            evidence_id("dev", place, text_key(strategy)),
            "dev",
            place,
            text_key(strategy),
            strategy,
            lifetime=whole,
            operative=whole.faded(left),
            observed_at=at,
            task=f"Task {task}",
        )
        side.put(Entry(seen, None, (number, None)), {})
    return side


def near(side: Side, entry: Entry) -> Consulted:
    return consulted(side, side.question_of(entry), is_advised=False)


@given(CELLS, st.integers(0, 23))
def test_the_row_of_the_only_strategy_is_that_of_the_advice_to_the_last_bit(cells: list[Cell], asked: int) -> None:
    side = side_of(cells, ["by hand"])
    known = near(side, side.held[asked % len(cells)])
    assert row_of_advice(known, 0) == Row.of(known.advice, 0)


def test_it_is_judged_without_advice() -> None:
    side = side_of([(1.0, 0.0, 1.0, 1, 1), (2.0, 1.0, 0.9, 2, 2)], ["by hand"])
    known = near(side, side.held[0])
    assert row_of_advice(known, 0).lifetime == Tally(3.0, 4.0)
    assert "advice" not in vars(known)


def test_of_two_strategies_each_has_its_row_of_the_advice() -> None:
    side = side_of([(3.0, 0.0, 1.0, 1, 1), (0.0, 3.0, 1.0, 2, 2)], ["by hand", "use a script"])
    known = near(side, side.held[0])
    assert [row_of_advice(known, row).lifetime for row in (0, 1)] == [Tally(3.0, 3.0), Tally(0.0, 3.0)]


def test_what_is_only_unjudged_has_a_row_all_the_same() -> None:
    side = side_of([(0.0, 0.0, 1.0, 1, 1)], ["by hand"])
    known = near(side, side.held[0])
    assert row_of_advice(known, 0) == Row.of(known.advice, 0)


@given(CELLS, st.integers(0, 23))
def test_plain_counts_are_those_of_the_advice(cells: list[Cell], asked: int) -> None:
    side = side_of(cells, ["by hand", "By hand!", "use a script"])
    known = near(side, side.held[asked % len(cells)])
    successes, trials = known.whole_counts
    assert successes.tolist() == known.advice.whole_successes.tolist()
    assert trials.tolist() == known.advice.whole_trials.tolist()


@given(CELLS, st.integers(0, 23))
def test_the_nearest_tasks_are_those_of_the_advice_which_they_do_without(cells: list[Cell], asked: int) -> None:
    side = side_of(cells, ["by hand", "use a script", "with a script"])
    known = near(side, side.held[asked % len(cells)])
    found = known.nearest
    assert "advice" not in vars(known)
    advice = known.advice
    assert [each.tolist() for each in found] == [
        each.tolist() for each in (advice.nearest, advice.near_successes, advice.near_failures)
    ]
