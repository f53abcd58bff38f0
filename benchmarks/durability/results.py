"""What came of the rounds, in a table and as plain values."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.durability.faults.trials import FAULTS, VERDICTS, Trial, counted
from benchmarks.durability.findings import SORTS
from benchmarks.durability.rounds import Round
from benchmarks.gates import Gate
from benchmarks.measures import percentile

FATES = ("acknowledged", "refused", "failed", "unknown")


def by_call(rounds: Sequence[Round]) -> dict[str, Counter[str]]:
    """How many calls of each kind ended how; of those in doubt, how many had landed; how many were lost, how many were half there."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for each in rounds:
        for call, fate, _ in each.checked.calls:
            table[call][fate] += 1
        for name, counter in (
            ("landed", each.checked.landed),
            ("lost", each.findings.lost_calls),
            ("half", each.findings.half_calls),
        ):
            for call, count in counter.items():
                table[call][name] += count
    return dict(sorted(table.items(), key=lambda item: -item[1]["acknowledged"]))


def show_calls(console: Console, rounds: Sequence[Round]) -> None:
    """Prints the calls by kind."""
    table = Table(title="Calls by kind", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("call")
    names = ("acknowledged", "refused", "killed in it", "of these landed", "lost", "half", "failed")
    for name in names:
        table.add_column(name, justify="right")
    rows = by_call(rounds)
    for call, counts in [*rows.items(), ("all", sum(rows.values(), Counter[str]()))]:
        keys = ("acknowledged", "refused", "unknown", "landed", "lost", "half", "failed")
        table.add_row(call, *(f"{counts[key]:,}" for key in keys))
    console.print(table)


def show_faults(console: Console, rounds: Sequence[Round], seed: int) -> None:
    """Prints the first faults of each round that has any, and how to run it again."""
    for each in rounds:
        if each.findings.is_clean:
            continue
        number = each.plan.number
        console.print(f"\nround {number} ({each.plan.sort}): python -m benchmarks.durability --seed {seed} --round {number}")
        for sort, told in each.findings.faults.items():
            console.print(f"  {SORTS[sort]}: {each.findings.counts[sort]}")
            for what in told[:3]:
                console.print(f"    {what[:1000]}", markup=False, highlight=False)


def figures(rounds: Sequence[Round]) -> list[Gate]:
    """The faults of each sort, of which there must be none, and how much was done."""
    counts = sum((each.findings.counts for each in rounds), Counter[str]())
    checked = sum((each.findings.checked for each in rounds), Counter[str]())
    calls = Counter(fate for each in rounds for _, fate, _ in each.checked.calls)
    result = [Gate(what, counts[sort], "", limit=0) for sort, what in SORTS.items()]
    result += [
        Gate("rounds", len(rounds), ""),
        Gate("processes killed", sum(each.kills for each in rounds), ""),
        Gate("calls acknowledged", calls["acknowledged"], ""),
        Gate("calls in the middle of which a process was killed", calls["unknown"], ""),
        *(Gate(f"checked: {name}", count, "") for name, count in sorted(checked.items())),
        Gate("seconds a round, median", percentile([each.seconds for each in rounds], 0.5), "s"),
    ]
    return result


def count_figures(counted: Round) -> list[Gate]:
    """What many processes made without any kill, and how much of it was not there exactly."""
    acknowledged = sum(fate == "acknowledged" for _, fate, _ in counted.checked.calls)
    refused = sum(fate == "refused" for _, fate, _ in counted.checked.calls)
    faults = ", ".join(f"{SORTS[sort]}: {count}" for sort, count in counted.findings.counts.items())
    return [
        Gate(f"counts: faults of any sort{f' ({faults})' if faults else ''}", counted.findings.counts.total(), "", limit=0),
        Gate(f"counts: calls acknowledged by {len(counted.plan.workers)} processes and what they forked", acknowledged, ""),
        Gate("counts: calls refused, for another was quicker", refused, ""),
        Gate("counts: memories compared", counted.findings.checked["memories"], ""),
    ]


def as_json(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """Each round: its plan, what was called and what was killed, what was checked and found, and how long it took."""
    return [_round(each) for each in rounds]


def _round(each: Round) -> dict[str, Any]:
    killed_in = Counter(call for call, fate, _ in each.checked.calls if fate == "unknown")
    return {
        "round": each.plan.number,
        "sort": each.plan.sort,
        "plan": asdict(each.plan),
        "kills": each.kills,
        "calls": dict(Counter(fate for _, fate, _ in each.checked.calls)),
        "killed_in": dict(killed_in),
        "landed": dict(each.checked.landed),
        "refused": dict(each.checked.refused),
        "slowest_call": _slowest(each),
        "seconds": round(each.seconds, 2),
        "check_seconds": round(each.checked.seconds, 2),
        **each.findings.as_json(),
    }


def _slowest(each: Round) -> Mapping[str, float] | None:
    call, _, seconds = max(each.checked.calls, key=lambda told: told[2], default=("", "", 0.0))
    return {call: seconds} if call else None


def trial_figure(name: str, trials: Sequence[Trial]) -> Gate:
    """How many trials of a scenario ended in silence, in an error outside the tree, in a loss or not at all."""
    bad = sum(trial.verdict in FAULTS for trial in trials)
    return Gate(
        f"{name}: of {sum(trial.verdict != 'skipped' for trial in trials)} trials, silent, lost, foreign or hanging",
        bad,
        "",
        limit=0,
    )


def show_trials(console: Console, trials: Mapping[str, Sequence[Trial]]) -> None:
    """Prints the verdicts by scenario, and what was bad."""
    table = Table(title="Faults that are no kills", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenario")
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    for name, each in trials.items():
        table.add_row(name, *(str(count or "") for count in counted(each).values()))
    console.print(table)
    for name, each in trials.items():
        for trial in each:
            if trial.verdict in (*FAULTS, "skipped"):
                console.print(f"{name}: {trial.what}: {trial.verdict}: {trial.told[:1500]}", markup=False, highlight=False)


def trials_as_json(trials: Mapping[str, Sequence[Trial]]) -> dict[str, Any]:
    """The trials of each scenario."""
    return {name: [asdict(trial) for trial in each] for name, each in trials.items()}
