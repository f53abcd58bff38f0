"""Whether agents of a framework do better from round to round: `python -m benchmarks.families --framework NAME`, in that framework's environment.

Six families of tasks, each in other words in each of six rounds. One way of six works for a family; an agent has two tries a run, which call a tool
that raises for the others. The agent follows blindly what its notes say, and guesses where they say nothing. The score is the share of runs whose
*first* try is right. The same agents run without memory. Ways are dealt out anew for each seed, so that no words give them away.
"""

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.progress import Progress

from alma import ALMA
from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import interval, mean
from benchmarks.screen import wide_console

FRAMEWORKS = ("plain", "langchain", "llamaindex", "crewai")
AGENT = "worker"
WAYS = ("rebuild", "restart", "roll back", "raise the limit", "clear the cache", "ask the owner")
TRIES = 2
SEEDS = 20

FAMILIES: tuple[tuple[str, ...], ...] = (
    (
        "The monthly sales report takes ten minutes to load",
        "Our revenue dashboard is very slow since Monday",
        "Speed up the query behind the turnover statistics",
        "People complain that sales figures take forever to appear",
        "Loading the quarterly revenue overview times out",
        "Make the report on monthly turnover fast again",
    ),
    (
        "Customers cannot log in after they reset their password",
        "Sign-in fails for users with a new password",
        "Fix the login problem that follows a password change",
        "After changing the password people are locked out of their account",
        "A user who renewed her password gets an error when signing in",
        "Login is rejected right after the password was reset",
    ),
    (
        "Product pictures do not upload from mobile phones",
        "Uploading a photo in the app fails",
        "Images sent by phone never arrive in the catalogue",
        "Fix the upload of pictures from the mobile app",
        "Users report that adding a photo ends in an error",
        "The photo upload hangs at ninety percent on phones",
    ),
    (
        "Some customers got the same invoice twice",
        "Duplicate bills were sent this month",
        "Find out why invoices are mailed two times",
        "A client complains about being billed double",
        "Stop the second copy of each invoice",
        "The billing run creates two invoices for one order",
    ),
    (
        "The test for the calendar fails every third time",
        "Our nightly build is red now and then because of one flaky test",
        "Make the unstable calendar test reliable",
        "A unit test on dates passes locally and fails on the build server at random",
        "Get rid of the random failures in the test suite",
        "The continuous integration job breaks sporadically on a date test",
    ),
    (
        "Push notifications reach Android phones hours late",
        "Messages on Android devices are delayed",
        "Notifications should arrive at once, but take hours",
        "Find the cause of late push messages",
        "Alerts from the app come long after the event",
        "Users see their notification only in the evening",
    ),
)
ROUNDS = len(FAMILIES[0])

_TAGGED = re.compile(r"^\[([A-Z])\d+\] (.*)$", re.MULTILINE)
_WAY = re.compile(r'apply\(way="([^"]+)"\)')
_WORKED = re.compile(r"worked (\d+) of (\d+)")


@dataclass
class Follower:
    """A model that does what the notes of its prompt say: of ways that worked the first, of the others any that is not warned of."""

    right: str
    chance: random.Random
    tried: list[str] = field(default_factory=list)
    contradictions: int = 0

    def next(self, prompt: str, results: Sequence[str]) -> "tuple[str, dict[str, str]] | str":
        """The next turn: a look, up to two tries, and the answer. `results` are what the tools of this run said so far."""
        if not results:
            return "look", {}
        if any("it works" in said for said in results):
            return "Done, it works."
        if len(self.tried) == TRIES:
            return "It could not be done."
        self.tried.append(self._chosen(prompt))
        return "apply", {"way": self.tried[-1]}

    def _chosen(self, prompt: str) -> str:
        praised, warned = self._advice(prompt)
        left = [way for way in WAYS if way not in self.tried]
        for way in praised:
            if way in left:
                return way
        return self.chance.choice([way for way in left if way not in warned] or left)

    def _advice(self, prompt: str) -> tuple[list[str], set[str]]:
        """The ways that notes praise, rules first, and those that they warn of. A way that rules both praise and warn of is a contradiction.

        What happened once is weaker than a rule: an attempt at another task may have failed by a way that works for this one.
        """
        praised: dict[str, list[str]] = {"rules": [], "attempts": []}
        warned: dict[str, set[str]] = {"rules": set(), "attempts": set()}
        for letter, line in _TAGGED.findall(prompt):
            good, bad = _read(letter, line)
            sort = "attempts" if letter == "O" else "rules"
            praised[sort] += good
            warned[sort] |= set(bad)
        self.contradictions += bool(warned["rules"].intersection(praised["rules"]))
        every = warned["rules"] | warned["attempts"]
        by_rule = [way for way in praised["rules"] if way not in warned["rules"]]
        return [*by_rule, *(way for way in praised["attempts"] if way not in every)], every - set(by_rule)


def _read(letter: str, line: str) -> tuple[list[str], list[str]]:
    """The ways that a note praises and those that it warns of: ways that worked more often than not are praised, others not. Errors are no advice."""
    if letter in "HSA":
        said, _, counts = line.partition("): ")
        ways, worked = _WAY.findall(f"{said})"), _WORKED.match(counts)
        return (ways, []) if worked and 2 * int(worked[1]) > int(worked[2]) else ([], ways)
    if letter == "O":
        went, _, rest = line.partition("Failed on the way:")
        failed, _, worked_then = rest.partition("Then worked:")
        ways = _WAY.findall(went.partition("Error:")[0])
        good, bad = ([], ways) if went.startswith("Failed") else (ways, [])
        return [*good, *_WAY.findall(worked_then)], [*bad, *_WAY.findall(failed)]
    return [], []


Run = Callable[[str, Follower], None]
"""Runs one agent on a task with a model, and returns when all that is to be kept is kept."""


def look() -> str:
    """Looks at the problem."""
    return "it is there"


def apply_for(follower: Callable[[], Follower]) -> Callable[[str], str]:
    """The tool that tries a way."""

    def apply(way: str) -> str:
        """Tries a way of mending it."""
        if way != follower().right:
            raise RuntimeError(f"no change after the attempt to {way}")
        return "it works"

    return apply


def went_well(run: Any) -> bool:
    """The evaluator."""
    return "it works" in run.answer


@dataclass
class World:
    """One seed: the shares of first tries that were right, by round, and how often notes contradicted each other."""

    shares: list[float]
    contradictions: int


def play(run: Run, seed: int) -> World:
    """Plays all rounds of a seed, families in an order of chance."""
    chance = random.Random(seed)
    right = [chance.choice(WAYS) for _ in FAMILIES]
    shares, contradictions = [], 0
    for number in range(ROUNDS):
        hits = []
        for family in chance.sample(range(len(FAMILIES)), len(FAMILIES)):
            follower = Follower(right[family], chance)
            run(FAMILIES[family][number], follower)
            hits.append(float(follower.tried[:1] == [right[family]]))
            contradictions += follower.contradictions
        shares.append(mean(hits))
    return World(shares, contradictions)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        module = import_module(f"benchmarks.family_{options.framework}")
    except ImportError as error:
        sys.exit(str(error))
    learning, plain = [], []
    with Progress(console=console) as progress, tempfile.TemporaryDirectory(prefix="families-") as folder:
        bar = progress.add_task("worlds", total=options.seeds)
        for seed in range(options.seeds):
            with ALMA.open(Path(folder) / str(seed), project_id="families", embedding_provider=options.embedder) as alma:
                learning.append(play(module.runner(alma), seed))
            plain.append(play(module.runner(None), seed))
            progress.advance(bar)
    result = gates_of(learning, plain)
    gates.show(
        console, result, f"First tries that are right, {options.framework}, {options.seeds} worlds, embedder {options.embedder}"
    )
    for name, worlds in (("with memory", learning), ("without", plain)):
        console.print(f"{name}, by round:", *(f"{mean([world.shares[n] for world in worlds]):.2f}" for n in range(ROUNDS)))
    if options.json:
        gates.write_json(options.json, result, framework=options.framework, seeds=options.seeds)
    gates.enforce(result)


def gates_of(learning: Sequence[World], plain: Sequence[World]) -> list[Gate]:
    """The figures with their limits: both differences above 0 with their whole intervals, and no contradiction."""
    gained = [world.shares[-1] - world.shares[0] for world in learning]
    beside = [own.shares[-1] - other.shares[-1] for own, other in zip(learning, plain, strict=True)]
    return [
        Gate("round 6", mean([world.shares[-1] for world in learning]), "of first tries"),
        Gate("round 6 without memory", mean([world.shares[-1] for world in plain]), "of first tries"),
        Gate("round 6 less round 1", mean(gained), "of first tries"),
        Gate("its interval from", interval(gained)[0], "", limit=0.0, more_is_better=True),
        Gate("round 6 less that without memory", mean(beside), "of first tries"),
        Gate("its interval from", interval(beside)[0], "", limit=0.0, more_is_better=True),
        Gate("prompts whose rules praise and warn of one way", sum(world.contradictions for world in learning), "", limit=0),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.families", description=__doc__.partition("\n")[0] if __doc__ else None
    )
    parser.add_argument("--framework", choices=FRAMEWORKS, required=True)
    parser.add_argument("--seeds", type=positive, default=SEEDS, help="worlds (default: %(default)s)")
    parser.add_argument("--embedder", default="minilm", help="the embedder of the stores (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser


if __name__ == "__main__":
    main()
