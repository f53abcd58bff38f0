"""Three agents over ten tasks: the senior finds out, the junior and QA use the senior's rules, one crashes and begins again.

Afterwards the same team over 20 seeds: without notes, and with notes whose ways are shuffled.
"""

import math
import random
import re
import statistics
import tempfile

from alma import ALMA, Context, create_harness
from alma.harness import Setting
from alma.testing import FixedClock

WAYS = ("alpha", "beta", "gamma", "delta")
SEEDS, CRASHES = 20, 1
TASKS = [
    ("senior", "Deploy the login service"),
    ("senior", "Migrate the orders table"),
    ("senior", "Deploy the cart service"),
    ("senior", "Migrate the users table"),
    ("junior", "Deploy the mail service"),
    ("junior", "Migrate the prices table"),
    ("qa", "Deploy the search service"),
    ("junior", "Deploy the photo service"),
    ("qa", "Migrate the stock table"),
    ("junior", "Migrate the returns table"),
]
AGENTS = {"senior": {"share_with": ["junior", "qa"]}, "junior": {}, "qa": {}}


class PowerCut(BaseException):
    """The machine goes down: no failure of the agent."""


def ways_in(text, kind):
    """The ways that notes praise, and those that they warn of, as a model would read them."""
    praised, failed = {}, {}
    for line in text.splitlines():
        is_warning = re.match(r"\[\w+\] Failed|.*: failed \d", line)
        for part in re.split(r" \| |; (?=instead: )", line):
            is_bad = part.startswith("Failed") or (is_warning and not part.startswith("instead: "))
            found = failed if is_bad else praised
            found.update(dict.fromkeys(re.findall(rf'{kind}\(way="(\w+)"', part)))
    return [way for way in praised if way not in failed], list(failed)


def team(alma, chance, *, notes="right", crashes=None):
    """Plays the ten tasks. Returns a row for each: agent, task, first way, and whether that worked."""
    works = {"deploy": chance.choice(WAYS), "migrate": chance.choice(WAYS)}
    rows, power_is_out = [], False

    def tool(kind):
        def call(way):
            if way != works[kind]:
                raise RuntimeError(f"{kind} by {way} was rolled back")
            return f"done by {way}"

        call.__name__ = kind
        return call

    def shuffled(text):
        mixed = dict(zip(WAYS, chance.sample(WAYS, len(WAYS)), strict=True))
        return re.sub("|".join(WAYS), lambda found: mixed[found[0]], text)

    def agent(prompt, tools):
        nonlocal power_is_out
        kind = prompt.rpartition("Task: ")[2].split()[0].lower()
        read = shuffled(prompt) if notes == "shuffled" else prompt
        praised, failed = ways_in(read, kind)
        untried = [way for way in WAYS if way not in failed] or list(WAYS)
        tries = [*praised, *chance.sample(untried, len(untried))]
        for way in dict.fromkeys(tries):
            try:
                return tools[kind](way=way)
            except RuntimeError:
                if power_is_out:
                    power_is_out = False
                    raise PowerCut from None
        return "I could not."

    setting = Setting(name="team", description="You operate a shop.", tools=(tool("deploy"), tool("migrate")))
    reports = []
    options = {"evaluator": lambda run: "done" in run.answer, "on_run": reports.append}
    options["inject"] = "none" if notes == "none" else "message"
    harnesses = {name: create_harness(setting, name, alma, run=agent, **options) for name in AGENTS}
    for number, (name, task) in enumerate(TASKS):
        power_is_out = number == crashes
        try:
            harnesses[name].run(Context(task=task))
        except PowerCut:
            rows.append((name, f"{task} (crashed)", reports[-1]))
            harnesses[name].run(Context(task=task))  # begins again, warned by the step that was stored
        rows.append((name, task, reports[-1]))
    return rows


def played(seed, **how):
    """The team in a new store. Returns its rows with the first step of each run."""
    options = {"project_id": "shop", "agents": AGENTS, "embedding_provider": "hash", "clock": FixedClock()}
    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, **options) as alma:
        rows = team(alma, random.Random(seed), **how)
    return [(name, task, report.episodes[0]) for name, task, report in rows]


def failures(seed, notes):
    """Number of tasks whose first try failed."""
    return sum(not record.steps[0].ok for _, _, record in played(seed, notes=notes))


def interval(differences):
    """The mean and its 95 % interval, by Student's t for 20 values."""
    mean, half = statistics.mean(differences), 2.093 * statistics.stdev(differences) / math.sqrt(len(differences))
    return mean, mean - half, mean + half


print(f"{'agent':8}{'task':40}{'first try':24}notes")
for name, task, record in played(7, crashes=CRASHES):
    first = record.steps[0]
    shown = {exposure.tag for exposure in record.shown}
    way = first.action.split('"')[1]
    print(f"{name:8}{task:40}{way:10}{'worked' if first.ok else 'failed':14}{len(shown)}")

by_notes = {notes: [failures(seed, notes) for seed in range(SEEDS)] for notes in ("right", "none", "shuffled")}
print()
for notes, found in by_notes.items():
    print(f"{notes:9} notes: {statistics.mean(found):.1f} of {len(TASKS)} first tries failed")
mean, low, high = interval([none - right for none, right in zip(by_notes["none"], by_notes["right"], strict=True)])
print(f"without notes {mean:.1f} more fail (95 %: {low:.1f} to {high:.1f})")
assert low > 0, "the team does better with its memory"
mean, low, high = interval([none - mixed for none, mixed in zip(by_notes["none"], by_notes["shuffled"], strict=True)])
print(f"shuffled notes save {mean:.1f} (95 %: {low:.1f} to {high:.1f})")
assert low <= 0, "and not because there is something in the prompt"
