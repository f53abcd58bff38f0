"""Changes of key that are killed or fail at every sort of point: one whole store is live, and the former one or the new one is it."""

from pathlib import Path
from typing import Any

import pytest

from failing_calls import Faulty
from fault_checks import NewPlace

pytestmark = pytest.mark.slow

POINTS = {"encrypt": 20, "decrypt": 20, "rotate": 10}
"""How many points a change is killed at: fifty in all."""

WAYS = {"encrypt": ("sqlite", "none", "key"), "decrypt": ("encrypted", "key", "none"), "rotate": ("encrypted", "key", "other")}
"""The store, the key before and the key afterwards."""

WORD = b"lantern"
"""In a text of each store."""


def state_of(process: Faulty, place: Path) -> tuple[str, dict[str, Any]]:
    """The key that opens the store, and what it holds. In an encrypted one nothing is readable, in no file."""
    looked = process.ask_well("look", place)
    assert looked.one("found")["problems"] == []
    readable = [path.name for path in (place / "store").rglob("*") if path.is_file() and WORD in path.read_bytes()]
    assert bool(readable) == (looked.one("key") == "none"), readable
    return looked.one("key"), looked.one("found")


def spread(count: int, points: int) -> list[int]:
    return sorted({1 + number * (count - 1) // max(points - 1, 1) for number in range(points)})


def check(process: Faulty, new_place: NewPlace, change: str, way: str, *, times: int, points: int) -> None:
    store, before, after = WAYS[change]
    count = process.ask_well("change", new_place(store), act=change).one("count")
    _, held = state_of(process, new_place(store))
    for at in spread(count, points):
        place = new_place(store)
        told = process.ask("change", place, act=change, way=way, at=at, times=times)
        assert told.was_killed or told.ended_well, f"{at}: {told.events}"
        key, found = state_of(process, place)
        assert found == held, f"{at}: {told.events}"
        if told.all("done"):
            assert key == after, f"{at}: {told.events}"
        assert key in (before, after), f"{at}: {told.events}"


@pytest.mark.parametrize("change", WAYS)
def test_a_change_of_key_that_is_killed_leaves_one_whole_store(process: Faulty, new_place: NewPlace, change: str) -> None:
    check(process, new_place, change, "kill", times=1, points=POINTS[change])


@pytest.mark.parametrize(("way", "times"), [("ENOSPC", 0), ("EIO", 1)])
@pytest.mark.parametrize("change", WAYS)
def test_a_change_of_key_that_fails_leaves_one_whole_store(
    process: Faulty, new_place: NewPlace, change: str, way: str, times: int
) -> None:
    check(process, new_place, change, way, times=times, points=POINTS[change] // 5)


@pytest.mark.everywhere
@pytest.mark.parametrize(("way", "times"), [("kill", 1), ("torn", 1), ("short", 1), ("EIO", 1), ("ENOSPC", 0)])
@pytest.mark.parametrize("change", WAYS)
def test_a_change_of_key_leaves_one_whole_store_after_a_fault_at_every_call(
    process: Faulty, new_place: NewPlace, change: str, way: str, times: int
) -> None:
    check(process, new_place, change, way, times=times, points=1_000)
