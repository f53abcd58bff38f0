"""Of the calls that are warned of, how many would really have failed: `python -m benchmarks.coding_agents_warnings [--worlds 20] [--json OUT]`.

A world is a history of sessions in one project, made from a seed and replayed: before each call the warnings that the sessions before
prove are looked up, then the call runs and is learned from. Commands are healthy, worked on (they fail, a file is edited, they pass),
broken (they fail until that is mended elsewhere), or flaky. Beside worlds with all four are worlds in which what is broken is mended within days,
and worlds in which nothing is broken and what fails is flaky. In all of them the next call of what has failed passes too often for a warning, and
nothing shows when, so the limit is on wrong warnings: none is better than that. `coding_agents_repeats` has what can be warned of.
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

MOST_WRONG = 1.0
"""Wrong warnings in 1,000 calls."""

FIRST_SEED = 7_000
SESSIONS, CALLS = 40, 6
"""A session a day, with so many calls."""

MIXED = {"healthy": 6, "worked on": 5, "broken": 4, "flaky": 5}
SOON_MENDED = {**MIXED, "flaky": 0, "broken": 9}
FLAKY = {"healthy": 6, "worked on": 5, "flaky": 9}


@dataclass(slots=True)
class Command:
    """A command of a project. `breaks` and `mends` are probabilities between two sessions, `fails` that of one call where it is flaky."""

    line: str
    sort: str
    breaks: float = 0.0
    mends: float = 0.0
    fails: float = 0.0
    is_broken: bool = field(default=False)

    def passes_night(self, chance: random.Random) -> None:
        """Breaks or is mended between two sessions."""
        self.is_broken = chance.random() >= self.mends if self.is_broken else chance.random() < self.breaks

    def ends_well(self, chance: random.Random) -> bool:
        """Returns whether one call passes."""
        return not self.is_broken and chance.random() >= self.fails


def commands(chance: random.Random, sorts: dict[str, int], mends: float) -> list[Command]:
    """The commands of a world, so many of each sort."""
    made = []
    for sort, number in sorts.items():
        for place in range(number):
            line = f"npm run {sort.replace(' ', '-')}-{place}"
            is_flaky, is_worked_on = sort == "flaky", sort == "worked on"
            broken = {"breaks": 0.1, "mends": mends} if sort == "broken" else {}
            fails = chance.uniform(0.05, 0.5) if is_flaky else 0.4 if is_worked_on else 0.0
            made.append(Command(line, sort, fails=fails, **broken))
    return made


def events(chance: random.Random, made: Sequence[Command], name: str) -> Iterator[tuple[Command, Event]]:
    """The calls of a session. What is worked on is repaired in it."""
    for number, command in enumerate(chance.sample(made, CALLS)):
        ok = command.ends_well(chance)
        said = "" if ok else f"Error: {command.line} cannot reach port {4_000 + chance.randrange(100)} of host-{command.line[-1]}"
        ran = Event(TOOL, "claude-code", name, tool=SHELL, command=command.line)
        yield command, ran._replace(call=f"{number}-0", ok=ok, code=int(not ok), output=said)
        if command.sort == "worked on" and not ok:
            edited = Event(
                TOOL, "claude-code", name, tool=EDIT, call=f"{number}-1", path="a.js", old="a", new=f"b{number}", ok=True
            )
            yield command, edited
            yield command, ran._replace(call=f"{number}-2", ok=True, code=0)


def replayed(alma: ALMA, seed: int, sorts: dict[str, int], mends: float) -> Counter[tuple[str, bool]]:
    """Replays a world and returns how many calls of each sort were warned of, and failed or not."""
    chance = random.Random(seed)
    made = commands(chance, sorts, mends)
    counts: Counter[tuple[str, bool]] = Counter()
    for number in range(SESSIONS):
        for command in made:
            command.passes_night(chance)
        now = float((number + 1) * 86_400)
        proven = {"warnings": warnings_of(alma)}
        session, has_changed = Session(), False
        for command, event in events(chance, made, f"{seed}-{number}"):
            judged = shell.judged(event.command, bool(event.ok), "") if event.tool == SHELL else None
            counts["", event.ok is False] += judged is not None
            if judged is not None and not has_changed and warning_for(proven, judged.call, now=now):
                counts[command.sort, event.ok is False] += 1
            has_changed = has_changed or event.tool == EDIT
            session.add(event._replace(at=now))
        session.end()
        note_commands(alma, f"{seed}-{number}", session.ran)
    return counts


def figures(worlds: int, folder: Path) -> list[Gate]:
    """False warnings in 1,000 calls, and how much of what fails in a broken command is warned of."""
    found = []
    for what, sorts, mends in (("all sorts", MIXED, 0.05), ("soon mended", SOON_MENDED, 0.2), ("flaky alone", FLAKY, 0.0)):
        counts: Counter[tuple[str, bool]] = Counter()
        for seed in range(FIRST_SEED, FIRST_SEED + worlds):
            name = f"{what.replace(' ', '-')}-{seed}"
            with ALMA.open(folder / name, project_id="shop", embedding_provider="hash") as alma:
                counts += replayed(alma, seed, sorts, mends)
        calls, failed = counts["", True] + counts["", False], counts["", True]
        warned = Counter({key: number for key, number in counts.items() if key[0]})
        right = sum(number for (_, has_failed), number in warned.items() if has_failed)
        wrong = warned.total() - right
        if warned:
            found.append(Gate(f"{what}: warned calls that fail", right / warned.total(), ""))
        found.append(Gate(f"{what}: wrong warnings in 1,000 calls", 1_000 * wrong / calls, "", MOST_WRONG))
        found.append(Gate(f"{what}: calls that are warned of", warned.total() / calls, ""))
        found.append(Gate(f"{what}: calls that fail", failed / calls, ""))
        found.append(Gate(f"{what}: failures that are warned of", right / failed, ""))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents_warnings")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        found = figures(given.worlds, Path(name))
    gates.show(wide_console(), found, f"Warnings, {given.worlds} worlds of each sort")
    if given.json:
        gates.write_json(given.json, found, worlds=given.worlds)
    gates.enforce(found)


if __name__ == "__main__":
    main()
