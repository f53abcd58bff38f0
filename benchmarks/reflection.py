"""Whether reflection finds what makes runs succeed, and nothing where nothing does: `python -m benchmarks.reflection`.

Worlds are generated: kinds of task, tasks of different difficulty that are retried, and runs of a few actions each, of which tasks prefer some. In
*planted* worlds one action of one kind decides most of its runs; in *null* worlds none matters. *Confounded* worlds are null, too, but each task is
tried once and harder tasks prefer an action: a known limit, for nothing was tried twice. `--stored N` plays N planted and N null worlds through a
real store, with all-MiniLM-L6-v2.

The lying model names an action that does not matter, citing runs that had it. Its lesson is shown and cited in later episodes.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from alma import ALMA
from alma.text import estimate_tokens
from alma_knowledge.reflection.contrasts import Difference, Run, find_differences
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

SEED, WORLDS = 43, 400
KINDS, RUNS, FEW, TASKS = 2, 60, 40, 8
BASE, WITH, WITHOUT = 0.55, 0.9, 0.2
STEP = 10
CONTRARY, REFLECTIONS, TOKENS = 10, 1_000, 400
LIARS, STORED, STEPS = 20, 20, 40
LEAST_FOUND, MOST_FALSE = 0.85, 0.05

_THINGS = ("shop", "search", "billing", "mail", "login", "report", "catalogue", "invoice")
_VERBS = ("run the smoke tests", "warm the cache", "drain the queue", "notify the channel", "rebuild the index")
_MORE = ("lint the code", "bump the version", "freeze the schema", "rotate the logs", "ping the replica")
ACTED = (*_VERBS, *_MORE)
ASKED = ("Deploy the {} service to production", "Write the quarterly summary of {} figures for the board")


class World(NamedTuple):
    """Runs by kind of task, and the action that matters in the first kind, if one does."""

    kinds: Sequence[Sequence[Run]]
    planted: str | None


def draw(seed: int, *, is_planted: bool = False, is_confounded: bool = False) -> World:
    """Draws a world."""
    chance = random.Random(f"{SEED}/{seed}/{is_planted}/{is_confounded}")
    planted = chance.choice(ACTED) if is_planted else None
    return World([_draw_kind(chance, kind, None if kind else planted, is_confounded) for kind in range(KINDS)], planted)


def _draw_kind(chance: random.Random, kind: int, planted: str | None, is_confounded: bool) -> list[Run]:
    count = RUNS if is_confounded else TASKS
    hard = [chance.uniform(-0.3, 0.3) for _ in range(count)]
    likes = [{action: chance.uniform(0.15, 0.85) for action in ACTED} for _ in range(count)]
    runs = []
    for number in range(RUNS):
        task = number if is_confounded else chance.randrange(TASKS)
        if is_confounded:
            likes[task][ACTED[0]] = 0.5 + hard[task]
        done = [action for action in ACTED if chance.random() < likes[task][action]]
        rate = BASE - hard[task] if planted is None else WITH if planted in done else WITHOUT
        text = ASKED[kind].format(_THINGS[task % TASKS])
        keys, is_success = frozenset(done), chance.random() < rate
        runs.append(Run(f"{kind}/{number}", f"{kind}/{task}", text, tuple(done), keys, is_success))
    return runs


def find_planted(world: World) -> bool:
    """Returns True if the action that matters is found, on its side."""
    return any(each.key == world.planted and each.is_good for each in find_differences(world.kinds)[0])


def find_false(world: World) -> list[Difference]:
    """Returns the differences that are there by chance."""
    found = find_differences(world.kinds)
    return [each for number, some in enumerate(found) for each in some if number or each.key != world.planted]


def find_false_at_any_look(world: World) -> bool:
    """Returns True if a reflection after any ten runs of each kind finds a difference."""
    looks = range(STEP, RUNS + 1, STEP)
    return any(find_false(World([runs[:upto] for runs in world.kinds], None)) for upto in looks)


def record(alma: ALMA, world: World) -> None:
    """Records the runs of a world as episodes with their steps."""
    for runs in zip(*world.kinds, strict=True):
        for run in runs:
            with alma.episode("dev", run.text, top_k=1, deferred=True) as episode:
                for action in run.actions:
                    episode.step(action, ok=True)
                (episode.succeed if run.is_success else episode.fail)()


def open_world(folder: str, world: World, embedder: str = "auto") -> Iterator[ALMA]:
    """Yields a memory with the runs of a world."""
    with ALMA.open(Path(folder), project_id="world", embedding_provider=embedder) as alma:
        record(alma, world)
        yield alma


def reflect_in_store(seed: int, *, is_planted: bool) -> list[str]:
    """Returns the actions that a reflection on a world in a real store names."""
    world = draw(seed, is_planted=is_planted)
    with tempfile.TemporaryDirectory() as folder:
        for alma in open_world(folder, world):
            return [lesson.action for lesson in alma.reflect("dev").lessons]
    return []


class Liar:
    """A model that names an action of no importance, and cites runs that had it."""

    def complete(self, prompt: str) -> str:
        """Returns one lesson."""
        runs = prompt.split("Run ")[1:]
        cited = [place for place, run in enumerate(runs, 1) if ACTED[0] in run and "It succeeded" in run]
        when = "deploy" if "Deploy" in prompt else "write the summary"
        lesson = {"title": ACTED[0], "when": when, "do": ACTED[0], "because": "it succeeded", "cites": cited[:2]}
        return json.dumps({"lessons": [lesson] if cited else []})


class Lied(NamedTuple):
    """What became of a liar's lessons: likely while all is contrary, contrary episodes until one is retired, likely at the usual rate."""

    is_likely_alone: bool
    contrary: int
    is_likely_by_chance: bool


def lie(seed: int) -> Lied:
    """Stores a liar's lesson twice, and plays episodes that cite it: all contrary, and ten that succeed at the base rate."""
    alone, by_chance, contrary = False, False, CONTRARY + 1
    for rate in (0.0, BASE):
        with tempfile.TemporaryDirectory() as folder:
            for alma in open_world(folder, draw(seed), "hash"):
                lessons = alma.reflect("dev", llm=Liar(), dry_run=False).lessons
                chance = random.Random(seed)
                for number in range(1, CONTRARY + 1):
                    for lesson in (each for each in lessons if each.method == "llm"):
                        _cite(
                            alma,
                            lesson.id,
                            f"Deploy the {_THINGS[number % TASKS]} service, release {number}",
                            chance.random() < rate,
                        )
                    result = alma.reflect("dev", dry_run=False)
                    statuses = {each.status for each in result.known if each.id in {one.id for one in lessons}}
                    alone |= rate == 0 and "likely" in statuses
                    by_chance |= rate > 0 and "likely" in statuses
                    if rate == 0 and result.retired:
                        contrary = min(contrary, number)
                        break
    return Lied(alone, contrary, by_chance)


def _cite(alma: ALMA, lesson: str, task: str, is_success: bool) -> None:
    memories = alma.retrieve(f"{task} {ACTED[0]}", "dev", top_k=20)
    with alma.episode("dev", task, memories=memories) as episode:
        episode.used([lesson])
        (episode.succeed if is_success else episode.fail)()


class Writer:
    """A model that words another lesson of the same run in each call."""

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, prompt: str) -> str:
        """Returns one lesson."""
        one, other = divmod(self.calls, STEPS)
        self.calls += 1
        runs = prompt.split("Run ")[1:]
        cited = next(place for place, run in enumerate(runs, 1) if "It succeeded" in run)
        action = f"set option {one} before option {other}"
        lesson = {"title": "options", "when": "deploy", "do": action, "because": "it succeeded", "cites": [cited]}
        return json.dumps({"lessons": [lesson]})


def write_playbook() -> tuple[int, int]:
    """Returns the most tokens of playbooks while a thousand reflections each note a lesson, and how many lessons there are in the end."""
    most, writer = 0, Writer()
    with tempfile.TemporaryDirectory() as folder, ALMA.open(Path(folder), project_id="book", embedding_provider="hash") as alma:
        actions = [f"set option {number}" for number in range(STEPS)]
        record(alma, World([[Run(str(n), "a", "Deploy", tuple(actions), frozenset(), bool(n)) for n in (0, 1)]], None))
        for number in range(1, REFLECTIONS + 1):
            alma.reflect("dev", llm=writer, dry_run=False)
            if not number % 50:
                most = max(most, estimate_tokens(alma.playbook("dev", max_tokens=TOKENS)))
        return most, alma.get_stats().by_kind.get("heuristic", 0)


def _share(of: Sequence[bool]) -> float:
    return sum(of) / len(of)


def judge_worlds(worlds: int) -> Iterator[Gate]:
    """Yields the figures of drawn worlds."""
    planted, null = ([draw(seed, is_planted=each) for seed in range(worlds)] for each in (True, False))
    confounded = [draw(seed, is_confounded=True) for seed in range(worlds)]
    yield Gate(f"planted, {RUNS} runs a kind: found", _share([*map(find_planted, planted)]), "", LEAST_FOUND, more_is_better=True)
    few = [World([runs[:FEW] for runs in world.kinds], world.planted) for world in planted]
    yield Gate(f"planted, {FEW} runs a kind: found", _share([*map(find_planted, few)]), "", more_is_better=True)
    yield Gate("planted: another is named, too", _share([bool(find_false(world)) for world in planted]), "", MOST_FALSE)
    yield Gate("null: any lesson", _share([bool(find_false(world)) for world in null]), "", MOST_FALSE)
    yield Gate(f"null: any at any of {RUNS // STEP} reflections", _share([*map(find_false_at_any_look, null)]), "")
    yield Gate("confounded: any lesson", _share([bool(find_false(world)) for world in confounded]), "")


def judge_stores(stored: int) -> Iterator[Gate]:
    """Yields the figures of worlds in real stores."""
    named = [reflect_in_store(seed, is_planted=True) for seed in range(stored)]
    false = [bool(reflect_in_store(seed, is_planted=False)) for seed in range(stored)]
    found = _share([draw(seed, is_planted=True).planted in names for seed, names in enumerate(named)])
    yield Gate("in a store, planted: found", found, "", LEAST_FOUND, more_is_better=True)
    yield Gate("in a store, null: any lesson", _share(false), "", MOST_FALSE)


def judge_liars(liars: int) -> Iterator[Gate]:
    """Yields the figures of lessons that a model made up, and of a playbook of many lessons."""
    lied = [lie(seed) for seed in range(liars)]
    yield Gate("a lie is likely by no evidence but its own", _share([one.is_likely_alone for one in lied]), "", limit=0)
    yield Gate("contrary episodes until a lie is retired, most", max(one.contrary for one in lied), "", limit=CONTRARY)
    yield Gate("a lie is likely within ten episodes at the usual rate", _share([one.is_likely_by_chance for one in lied]), "")
    most, lessons = write_playbook()
    yield Gate(f"tokens of a playbook of {lessons:,} lessons, most", most, "", limit=TOKENS)


def main() -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reflection", description=__doc__)
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--stored", type=int, default=STORED, help="worlds that are played through a real store")
    parser.add_argument("--liars", type=int, default=LIARS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    options = parser.parse_args()
    result = [*judge_worlds(options.worlds)]
    result += judge_stores(options.stored) if options.stored else ()
    result += judge_liars(options.liars) if options.liars else ()
    gates.show(wide_console(), result, "Reflection")
    if options.json:
        gates.write_json(options.json, result)
    gates.enforce(result)


if __name__ == "__main__":
    main()
