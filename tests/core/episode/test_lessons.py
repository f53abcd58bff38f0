"""Which steps become memories."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from alma.episode import MOST_LESSONS, Lessons
from alma.types import Step
from alma.types.identity import EPOCH

Told = tuple[str, bool | None, str | None]


def _steps(told: Sequence[Told]) -> list[Step]:
    return [
        Step(number=number, action=tool, tool=tool, ok=ok, error=error, at=EPOCH)
        for number, (tool, ok, error) in enumerate(told, start=1)
    ]


def _lessons(*told: Told) -> list[int]:
    """The numbers of the steps that became lessons."""
    steps = _steps(told)
    states = accumulate(steps, Lessons.after, initial=Lessons())
    return [step.number for step, (before, after) in zip(steps, pairwise(states), strict=True) if after.count > before.count]


def test_a_failure_is_a_lesson_once_for_its_tool_and_cleaned_error() -> None:
    assert _lessons(("pull", False, "pod 1 lost"), ("pull", False, "pod 2 lost"), ("pull", False, "no disk")) == [1, 3]
    assert _lessons(("pull", False, "lost"), ("push", False, "lost")) == [1, 2]
    assert _lessons(("pull", False, None), ("pull", False, None)) == [1]


def test_a_success_is_a_lesson_only_as_the_first_of_a_tool_that_failed() -> None:
    assert _lessons(("pull", True, None)) == []
    assert _lessons(("pull", False, "lost"), ("push", True, None), ("pull", True, None), ("pull", True, None)) == [1, 3]


def test_after_another_failure_the_next_success_is_a_lesson_again() -> None:
    again = [("pull", False, "a"), ("pull", True, None), ("pull", False, "a"), ("pull", True, None)]
    assert _lessons(*again) == [1, 2]
    assert _lessons(*again, ("pull", False, "b"), ("pull", True, None)) == [1, 2, 5, 6]


def test_a_step_that_nobody_judged_is_no_lesson() -> None:
    assert _lessons(("pull", None, None), ("pull", False, "a"), ("pull", None, None), ("pull", True, None)) == [2, 4]


def test_there_are_at_most_twenty_lessons() -> None:
    many: list[Told] = [("pull", False, chr(97 + n)) for n in range(26)]
    assert _lessons(*many) == list(range(1, 21))
    assert MOST_LESSONS == 20


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([True, False, None]), st.sampled_from([None, "x 1", "x 2", "y"])),
        max_size=60,
    )
)
def test_no_failure_is_learned_twice_and_no_success_before_a_failure(told: list[Told]) -> None:
    lessons = [_steps(told)[number - 1] for number in _lessons(*told)]
    failures = [(step.tool, (step.error or "").rstrip("0123456789")) for step in lessons if step.ok is False]
    assert len(set(failures)) == len(failures)
    for place, step in enumerate(lessons):
        if step.ok:
            assert [earlier.ok for earlier in lessons[:place] if earlier.tool == step.tool][-1:] == [False]
    assert len(lessons) <= MOST_LESSONS
