"""Tries the acts of `fault_acts` under faults, and says what is not as it was promised.

A call that returned has stored its work, a call that raised has stored nothing, and of one whose process was killed all is there or nothing; of one
that raised `MemoryError`, and of a purge in files that raised, too.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from failing_calls import Faulty, Told
from fault_acts import PURGES

NewPlace = Callable[[str], Path]
"""Returns a copy of a store that was made once; see the fixture `new_place`."""

A_DOZEN = 12
OPTIONS: dict[str, dict[str, Any]] = {"sqlite": {}, "file": {"storage": "file"}}


class Fault(NamedTuple):
    """At which call, how, how many in a row (0: all from then on), and which calls count; "" is all."""

    at: int
    way: str
    times: int = 1
    calls: str = ""


WAYS = {
    "kill": (1, ""),
    "ENOSPC": (0, "write,fsync,rename"),
    "EIO": (1, "write,fsync,rename,truncate"),
    "torn": (1, "write"),
    "short": (1, "write"),
}
"""On a full disk, files are deleted and cut all the same; no disk refuses to delete."""


def counts_of(process: Faulty, new_place: NewPlace, store: str, act: str) -> dict[str, int]:
    """How many calls there are for each way."""
    sorts = {calls for _, calls in WAYS.values()}
    asked = {"act": act, "options": OPTIONS[store]}
    counts = {calls: process.ask_well("act", new_place(store), calls=calls, **asked).one("count") for calls in sorts}
    return {way: counts[calls] for way, (_, calls) in WAYS.items()}


def some(counts: dict[str, int]) -> Iterator[Fault]:
    """A dozen faults in all ways, those of each way spread over all calls."""
    for number, (way, (times, calls)) in zip(range(A_DOZEN), itertools.cycle(WAYS.items()), strict=False):
        share = (number + 0.5) / A_DOZEN
        yield Fault(1 + int(share * counts[way]), way, times, calls)


@cache
def states_of(process: Faulty, store: str, act: str, place: Path) -> list[dict[str, Any]]:
    """What is there before the first call of an act and after each."""
    return process.ask_well("states", place, act=act, options=OPTIONS[store]).all("state")


def check(process: Faulty, new_place: NewPlace, store: str, act: str, faults: Iterable[Fault]) -> None:
    """Tries an act under each fault."""
    states = states_of(process, store, act, new_place(store))
    for fault in faults:
        place = new_place(store)
        told = process.ask("act", place, act=act, options=OPTIONS[store], **fault._asdict())
        found = wrong(process, place, store, act, states, told)
        assert not found, f"{fault}: {found}; it said {told.events}"


def wrong(process: Faulty, place: Path, store: str, act: str, states: list[dict[str, Any]], told: Told) -> str:
    """What is not as it was promised; empty if all is."""
    if not (told.was_killed or told.ended_well):
        return "the process ended as it may not"
    looked = process.ask("look", place, options=OPTIONS[store])
    if not looked.ended_well:
        return f"the store does not open: {looked.events}"
    found, done = looked.one("found"), len(told.all("done"))
    has_no_memory = str(told.one("error")).startswith("MemoryError")
    is_in_doubt = told.was_killed or has_no_memory or (store, act, done) in PURGES
    may_be = states[done : done + 2] if is_in_doubt else states[done : done + 1]
    if found["problems"]:
        return f"verify finds {found['problems']}"
    if content(found) not in map(content, may_be or states[-1:]):
        return f"after {done} calls it holds {found}"
    if told.all("seen") and content(told.one("seen")) != content(found):
        return f"it saw something else than {found} itself"
    if not (told.was_killed or told.all("later") or act == "close"):
        return "it works no longer"
    if found["later"] != told.all("later"):
        return f"after the fault it learned {told.all('later')}, and there is {found['later']}"
    return wrong_files(process, place, act, states, told)


def content(seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name not in ("later", "problems")}


def wrong_files(process: Faulty, place: Path, act: str, states: list[dict[str, Any]], told: Told) -> str:
    """What is wrong with the file that an act makes: it is whole or not there, and a process that lives on leaves nothing beside it."""
    name = {"export": "shop.export", "backup": "copy.db"}.get(act, "")
    target = place / name
    left = {path.name for path in place.iterdir()} - {"store", "lab.export", name}
    if left and not told.was_killed:
        return f"{left} is left over"
    if not name or not target.exists():
        return f"{name} is not there" if name and told.all("done") else ""
    copy = place / "opened"
    (copy / "store").mkdir(parents=True)
    if act == "backup":
        target.rename(copy / "store" / "alma.db")
        found = process.ask_well("look", copy).one("found")
    else:
        found = process.ask_well("look_in_file", copy, file=str(target)).one("found")
    is_whole = not found["problems"] and found["shop"]["memories"] == states[0]["shop"]["memories"]
    return "" if is_whole else f"{name} holds {found}"
