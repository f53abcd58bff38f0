"""Warnings before a call, judged by histories that were written before the rule was chosen.

`python -m benchmarks.coding_agents_repeats [--worlds 20] [--json OUT]`

They are unlike those of `coding_agents_warnings`, with which the rule was chosen: some days have three sessions and some weeks none, an agent runs
a failing command again or tries something else, changes files that have nothing to do with it, and errors are worded as tools word them.

| sort | what it does |
|---|---|
| healthy | passes |
| worked on | fails in four of ten sessions, with another error each time; an edit repairs it |
| wrong | never works here: a script that is missing, a program that is not installed, an option that is not known |
| hopeless | never works here, and its error says nothing of that |
| setup | fails in each session until something was started |
| regression | breaks now and then, and is mended elsewhere within about a week |
| outage | a service is away for a day or three |
| flaky | fails by chance, in 5 to 60 of 100 calls; one in five of them says that a file is missing |

A call can be warned of if nothing was changed in its session before. A *repeat* is such a call that is the first of its command in its session, of
a command that is wrong, hopeless or needs a setup, and that has failed so in at least two sessions before.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from alma import ALMA
from alma_agents import shell
from alma_agents.attempts import Session
from alma_agents.events import EDIT, SHELL, TOOL, Event
from alma_agents.index import warning_for
from alma_agents.warning import note_commands, warnings_of
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

LEAST_PRECISION, LEAST_REPEATS = 0.95, 0.5
FIRST_SEED = 52_000
DAY = 86_400.0
STEPS = 8

MIXED = {"healthy": 8, "worked on": 5, "wrong": 3, "hopeless": 1, "setup": 2, "regression": 3, "outage": 2, "flaky": 5}
CHANCE = {"healthy": 8, "worked on": 6, "flaky": 12}
PASSING = {"healthy": 8, "worked on": 5, "regression": 8, "outage": 5}
WORLDS = (
    ("all sorts", MIXED, 40, 1),
    ("a young project", MIXED, 10, 5),
    ("flaky alone", CHANCE, 40, 1),
    ("soon mended", PASSING, 40, 1),
)
"""Worlds, with the sessions of each, and how many times as many of them there are."""

REPEATING = ("wrong", "hopeless", "setup")

_WRONG = (
    ("npm run check-types-{n}", 'npm error Missing script: "check-types-{n}"'),
    ("lint-all-{n} src", "bash: line 1: lint-all-{n}: command not found"),
    ("pytest --fast-{n} tests", "pytest: error: unrecognized arguments: --fast-{n}"),
    ("python -m tools{n}.build", "/usr/bin/python: No module named tools{n}"),
)
_CHANCE = (
    "Error: Timeout of 5000ms exceeded in checkout-{n}",
    "AssertionError: expected {r} to equal 3 in cart-{n}",
    "FAILED tests/queue_{n}.py::test_order - assert {r} == 3",
    "Error: page crashed in suite-{n}",
    "Error: ENOENT: no such file or directory, open '/tmp/x{r}/lock-{n}'",
)
_BREAKS = {"regression": (0.04, 0.15), "outage": (0.03, 0.45)}
"""Probability a day that it breaks, and that it is mended."""


@dataclass(slots=True)
class Made:
    """A command of a world."""

    line: str
    sort: str
    error: str
    fails: float = 0.0
    is_broken: bool = False
    failed_in: int = field(default=0)

    def lives(self, days: float, chance: random.Random) -> None:
        """Breaks or is mended while days pass."""
        breaks, mends = _BREAKS.get(self.sort, (0.0, 0.002 if self.sort == "wrong" else 0.0))
        once = mends if self.is_broken else breaks
        if chance.random() < 1.0 - (1.0 - once) ** days:
            self.is_broken = not self.is_broken

    def ends_well(self, chance: random.Random, was_set_up: bool) -> bool:
        """Returns whether one call passes."""
        return not (self.is_broken or (self.sort == "setup" and not was_set_up) or chance.random() < self.fails)


def made(chance: random.Random, sorts: dict[str, int]) -> list[Made]:
    """The commands of a world, so many of each sort."""
    found = []
    for sort, number in sorts.items():
        for place in range(number):
            n = f"{sort.replace(' ', '')}{place}"
            if sort == "wrong":
                line, error = (text.format(n=n) for text in chance.choice(_WRONG))
            elif sort == "flaky":
                line, error = f"npm run e2e:{n}", chance.choice(_CHANCE).replace("{n}", n)
            elif sort in ("setup", "outage"):
                line, error = f"pytest tests/{n}", f"E   ConnectionRefusedError: [Errno 111] Connection refused: {n}.internal"
            else:
                line, error = f"pytest tests/{n}", f"FAILED tests/{n}/test_sum.py::test_total - assert {{r}} == 7"
            fails = chance.uniform(0.05, 0.6) if sort == "flaky" else 0.4 if sort == "worked on" else 0.0
            found.append(Made(line, sort, error, fails, is_broken=sort in ("wrong", "hopeless")))
    return found


class Played:
    """One session: an agent that runs commands, and does what agents do when one fails."""

    def __init__(self, chance: random.Random, name: str, at: float) -> None:
        self.chance, self.name, self.at, self.number = chance, name, at, 0

    def steps(self, commands: Sequence[Made]) -> Iterator[tuple[Made | None, Event]]:
        """Yields what happens, each event with its command; `None` for what belongs to none."""
        chance = self.chance
        for command in chance.sample(list(commands), min(STEPS, len(commands))):
            if chance.random() < 0.15:
                yield None, self._edit()
            yield from self._tried(command)

    def _tried(self, command: Made) -> Iterator[tuple[Made | None, Event]]:
        chance = self.chance
        failed, event = self._ran(command)
        yield command, event
        if failed and command.sort != "worked on" and chance.random() < 0.4:
            failed, event = self._ran(command)
            yield command, event
        if not failed:
            return
        if command.sort == "worked on":
            yield None, self._edit()
            yield command, self._event(command.line, ok=True)
        elif command.sort == "setup" and chance.random() < 0.8:
            yield None, self._event(f"docker compose up -d {command.line[-1]}", ok=True)
            yield command, self._ran(command, was_set_up=True)[1]
        elif command.sort == "wrong" and chance.random() < 0.6:
            yield None, self._event(f"make {command.line.split()[0]}-instead", ok=True)
        elif command.sort in ("regression", "hopeless", "flaky") and chance.random() < 0.3:
            yield None, self._edit()
            yield command, self._ran(command)[1]

    def _ran(self, command: Made, *, was_set_up: bool = False) -> tuple[bool, Event]:
        ok = command.ends_well(self.chance, was_set_up)
        more = f" in case {self.chance.choice('abcdefgh')}lpha" if command.sort == "worked on" else ""
        said = "" if ok else f"Exit code 1\n{command.error.replace('{r}', str(self.chance.randrange(100)))}{more}"
        return not ok, self._event(command.line, ok=ok, output=said)

    def _event(self, line: str, *, ok: bool, output: str = "") -> Event:
        self.number += 1
        known = {"call": f"{self.name}-{self.number}", "at": self.at + self.number, "ok": ok, "code": int(not ok)}
        return Event(TOOL, "claude-code", self.name, tool=SHELL, command=line, output=output, **known)

    def _edit(self) -> Event:
        self.number += 1
        known = {"call": f"{self.name}-{self.number}", "at": self.at + self.number, "ok": True}
        return Event(TOOL, "claude-code", self.name, tool=EDIT, path="a.js", old="a", new=f"b{self.number}", **known)


def replayed(alma: ALMA, seed: int, sorts: dict[str, int], sessions: int) -> Counter[tuple[str, str]]:
    """Replays a world and returns for each sort how many calls could be warned of, were so rightly and wrongly, and how many were repeats."""
    chance = random.Random(seed)
    commands = made(chance, sorts)
    counts: Counter[tuple[str, str]] = Counter()
    now = 1_800_000_000.0
    for number in range(sessions):
        days = chance.choice((0.1, 0.2, 0.8, 1.0, 1.0, 1.5, 3.0, 8.0))
        now += days * DAY
        for command in commands:
            command.lives(days, chance)
        proven = {"warnings": warnings_of(alma)}
        session, changed, seen = Session(), False, set[str]()
        for command, event in Played(chance, f"{seed}-{number}", now).steps(commands):
            judged = shell.judged(event.command, bool(event.ok), "") if event.tool == SHELL else None
            if command is not None and judged is not None and not changed and command.line not in seen:
                is_repeat = command.sort in REPEATING and command.failed_in >= 2 and event.ok is False
                is_warned = warning_for(proven, judged.call, now=event.at) is not None
                counts[command.sort, "calls"] += 1
                counts[command.sort, "failed"] += event.ok is False
                counts[command.sort, "right" if event.ok is False else "wrong"] += is_warned
                counts[command.sort, "repeats"] += is_repeat
                counts[command.sort, "repeats warned of"] += is_repeat and is_warned
                command.failed_in += event.ok is False
            if command is not None:
                seen.add(command.line)
            words = [shell.kind_of(each) for each in shell.commands_of(event.command)] if event.tool == SHELL else []
            changed = changed or event.tool == EDIT or bool({"install", "change"} & set(words))
            session.add(event)
        session.end()
        note_commands(alma, f"{seed}-{number}", session.ran)
    return counts


def figures(worlds: int, folder: Path, first_seed: int = FIRST_SEED) -> list[Gate]:
    """Precision of warnings, and the share of repeats that are warned of."""
    found = []
    for what, sorts, sessions, times in WORLDS:
        counts: Counter[tuple[str, str]] = Counter()
        for seed in range(first_seed, first_seed + times * worlds):
            name = f"{what.replace(' ', '-')}-{seed}"
            with ALMA.open(folder / name, project_id="shop", embedding_provider="hash") as alma:
                counts += replayed(alma, seed, sorts, sessions)
        found += _figures(what, counts, judges_repeats=what == "all sorts")
    return found


def _figures(what: str, counts: Counter[tuple[str, str]], *, judges_repeats: bool) -> list[Gate]:
    total = Counter[str]()
    for (_, name), number in counts.items():
        total[name] += number
    warned = total["right"] + total["wrong"]
    found = [
        Gate(f"{what}: calls that are warned of", warned / total["calls"], ""),
        Gate(f"{what}: wrong warnings in 1,000 calls", 1_000 * total["wrong"] / total["calls"], ""),
    ]
    if warned:
        found.insert(
            0, Gate(f"{what}: warned calls that fail", total["right"] / warned, "", LEAST_PRECISION, more_is_better=True)
        )
    if total["repeats"]:
        share, limit = total["repeats warned of"] / total["repeats"], LEAST_REPEATS if judges_repeats else None
        found.append(Gate(f"{what}: repeats that are warned of", share, "", limit, more_is_better=True))
    for sort in sorted({sort for sort, _ in counts}):
        right, wrong = counts[sort, "right"], counts[sort, "wrong"]
        if right + wrong:
            found.append(Gate(f"{what}, {sort}: right warnings", right, ""))
            found.append(Gate(f"{what}, {sort}: wrong warnings", wrong, ""))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents_repeats")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        found = figures(given.worlds, Path(name), given.seed)
    gates.show(wide_console(), found, f"Warnings of what comes back, {given.worlds} worlds of each sort")
    if given.json:
        gates.write_json(given.json, found, worlds=given.worlds)
    gates.enforce(found)


if __name__ == "__main__":
    main()
