"""Processes whose n-th write, sync, rename, truncation or deletion fails, or is the last thing that they do.

A call that returned has stored its work, a call that raised has stored nothing, and of one whose process was killed all is there or nothing.
"""

import itertools

import pytest

from failing_calls import Faulty
from fault_acts import ACTS
from fault_checks import OPTIONS, WAYS, Fault, NewPlace, check, counts_of, some

pytestmark = pytest.mark.slow

CASES = [
    (store, act) for store, act in itertools.product(OPTIONS, ACTS) if (store, act) != ("file", "backup")
]  # files are copied


@pytest.mark.parametrize(("store", "act"), CASES)
def test_what_was_acknowledged_is_there_and_nothing_half_after_a_fault(
    process: Faulty, new_place: NewPlace, store: str, act: str
) -> None:
    check(process, new_place, store, act, some(counts_of(process, new_place, store, act)))


@pytest.mark.everywhere
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("store", "act"), CASES)
def test_the_same_after_a_fault_at_every_call(process: Faulty, new_place: NewPlace, store: str, act: str, way: str) -> None:
    count, (times, calls) = counts_of(process, new_place, store, act)[way], WAYS[way]
    check(process, new_place, store, act, (Fault(at, way, times, calls) for at in range(1, count + 1)))
