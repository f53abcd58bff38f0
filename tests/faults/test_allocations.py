"""Processes to which the system gives no more memory for a moment: a call that fails has stored all or nothing, and the next one works."""

import sys

import pytest

from failing_calls import Faulty
from fault_acts import ACTS
from fault_checks import Fault, NewPlace, check

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="allocations are made to fail with glibc")]

POINTS = 5
NAMES = [name for name in ACTS if name != "close"]


def faults(process: Faulty, new_place: NewPlace, act: str, points: int) -> list[Fault]:
    count = process.ask_well("act", new_place("sqlite"), act=act, calls="malloc").one("count")
    return [Fault(at, "EIO", 1, "malloc") for at in sorted({1 + number * count // points for number in range(points)})]


@pytest.mark.parametrize("act", NAMES)
def test_a_call_without_memory_stores_all_or_nothing(process: Faulty, new_place: NewPlace, act: str) -> None:
    check(process, new_place, "sqlite", act, faults(process, new_place, act, POINTS))


@pytest.mark.everywhere
@pytest.mark.parametrize("act", NAMES)
def test_the_same_at_many_allocations(process: Faulty, new_place: NewPlace, act: str) -> None:
    check(process, new_place, "sqlite", act, faults(process, new_place, act, 300))
