"""`alma demo`: the main job on real input."""

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.cli import forecasts, lessons, replay
from alma.cli.commands.init import make_project
from alma.cli.exits import Exit
from alma.cli.forecasts import Forecast
from alma.cli.options import CONFIG_FILE, JsonOption
from alma.cli.output import console, print_json, printable, table
from alma.cli.replay import Run
from alma.cli.slices import slice_table
from alma.errors import ConfigurationError

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import MemorySlice

TOP_K = 3
PROJECT = "airline-demo"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What the replay gave: figures for the end, slices to show, and what went wrong."""

    figures: dict[str, Any]
    slices: tuple[tuple[Run, "MemorySlice"], ...]
    failures: tuple[str, ...]


def demo(
    embedder: Annotated[str, typer.Option("--embedder", "-e", help="auto, minilm or hash.")] = "auto",
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the store in this folder, which must not hold one yet.", show_default="a temporary one"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Replay 80 real runs of an airline agent: what outcomes teach, how well failures are foreseen, and what is recalled for unseen tasks.

    \b
    Fails with exit code 1 when nothing is learned or recalled, when another agent sees anything, or when the store does not verify.
    Examples:
      alma demo
      alma demo --keep demo && alma verify --config demo/.alma/config.yaml
    """
    runs = replay.read_runs()
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alma-demo-")))
        shown = _demonstrate(folder, runs, embedder=embedder, is_quiet=json)
    if json:
        print_json({"ok": not shown.failures, "failures": list(shown.failures), **shown.figures})
    else:
        _show(shown, keep)
    if shown.failures:
        raise typer.Exit(Exit.PROBLEM)


def _demonstrate(folder: Path, runs: list[Run], *, embedder: str, is_quiet: bool) -> Demonstration:
    from alma import ALMA

    config = folder / CONFIG_FILE
    if config.exists() or any(config.parent.glob("*.db")):
        raise ConfigurationError(
            f"{config.parent} holds a store already; the demo starts with an empty one, so give another folder"
        )
    start = perf_counter()
    made = make_project(config, project_id=PROJECT, agents=[], embedder=embedder)
    learned = [run for run in runs if not replay.is_unseen(run)]
    unseen = [run for run in runs if replay.is_unseen(run)]
    with ALMA.from_config(config) as alma:
        before = {run: _recall(alma, run) for run in replay.first_tries(unseen)}
        learn_times, foreseen = _learn(alma, learned, is_quiet=is_quiet)
        answers = [replay.timed(partial(_recall, alma, run)) for run in unseen]
        stranger = alma.retrieve(task=unseen[0].task, agent=replay.STRANGER, top_k=TOP_K)
        taught = lessons.lessons(alma)
        report = alma.verify()
        memories = alma.get_stats().total
    pairs = list(zip(unseen, (found for found, _ in answers), strict=True))
    slices = tuple((run, found) for run, found in pairs if run in before)
    best, found = max(slices, key=lambda pair: max((item.score for item in pair[1].recalled), default=0.0))
    figures = {
        "embedder": made["embedder"],
        "runs_learned": len(learned),
        "learn_ms": replay.percentiles(learn_times),
        "retrieve_ms": replay.percentiles([spent for _, spent in answers]),
        "memories": memories,
        "store_bytes": sum(path.stat().st_size for path in config.parent.glob("alma.db*")),
        "journal_records_verified": report.records,
        "unseen_tasks": [replay.slice_figures(run, found) for run, found in slices],
        "learned": taught,
        "failure_warning": forecasts.figures(foreseen),
        "foresight": replay.foresight(pairs),
        "prompt": {"task": best.task, "before": before[best].to_prompt(), "after": found.to_prompt()},
        "seconds": round(perf_counter() - start, 2),
    }
    failures = (*_failures(pairs, list(before.values()), stranger, report.problems), *_failures_to_learn(taught))
    return Demonstration(figures, slices, failures)


def _recall(alma: "ALMA", run: Run) -> "MemorySlice":
    return alma.retrieve(task=run.task, agent=replay.AGENT, top_k=TOP_K)


def _learn(alma: "ALMA", runs: list[Run], *, is_quiet: bool) -> tuple[list[float], list[Forecast]]:
    """Learns the runs in the order of time. What is expected of a task that was tried before is asked before its next try is learned."""
    from rich.progress import track

    times, foreseen, tried = [], [], set[int]()
    for run in track(runs, description=f"Learning from {len(runs)} runs", console=console(stderr=True), disable=is_quiet):
        if run.task_id in tried:
            foreseen.append(Forecast(run.task_id, replay.expected(alma, run), run.success))
        tried.add(run.task_id)
        times.append(replay.timed(partial(replay.learn_run, alma, run))[1])
    return times, foreseen


def _failures_to_learn(taught: dict[str, Any]) -> list[str]:
    return [f"no {kind} was formed" for kind in ("heuristic", "anti_pattern") if taught[kind] is None]


def _failures(
    pairs: list[tuple[Run, "MemorySlice"]], before: list["MemorySlice"], stranger: "MemorySlice", problems: tuple[object, ...]
) -> tuple[str, ...]:
    failures = [f"nothing is recalled for: {run.task}" for run, found in pairs if not found.total_items]
    if any(found.total_items for found in before):
        failures.append("an empty memory recalled something")
    if stranger.total_items:
        failures.append(f"an agent that learned nothing sees {stranger.total_items} memories of another")
    return (*failures, *(f"the store does not verify: {problem}" for problem in problems))


def _show(shown: Demonstration, keep: Path | None) -> None:
    out = console()
    lessons.show(shown.figures["learned"])
    out.print("\nTasks that it has not seen, and what it recalls for them", style="bold")
    for run, found in shown.slices:
        out.print(slice_table(found, title=f"“{run.task}”") if found.total_items else printable(f"“{run.task}”: nothing"))
    prompt = shown.figures["prompt"]
    out.print(printable(f"The prompt block for “{prompt['task']}”, the one it knows most about"), style="bold")
    out.print("before:", style="bold")
    out.print(prompt["before"] or "(nothing: the memory was empty)")
    out.print("after:", style="bold")
    out.print(printable(prompt["after"]), soft_wrap=True)
    _show_figures(shown.figures)
    if keep is not None:
        out.print(f"\nThe store is in {keep}: alma verify --config {keep / CONFIG_FILE}", soft_wrap=True)
    for failure in shown.failures:
        out.print(printable(f"FAILED: {failure}"), style="bold red", soft_wrap=True)


def _show_figures(figures: dict[str, Any]) -> None:
    foresight, warned = figures["foresight"], figures["failure_warning"]
    rows = [
        ("embedder", figures["embedder"]),
        ("runs learned", figures["runs_learned"]),
        ("learn, ms p50 / p95 (with embedding)", "{p50:.1f} / {p95:.1f}".format_map(figures["learn_ms"])),
        ("retrieve, ms p50 / p95 (with embedding)", "{p50:.1f} / {p95:.1f}".format_map(figures["retrieve_ms"])),
        ("store", f"{figures['store_bytes'] / 1024:,.0f} kB, {figures['memories']} memories"),
        ("verified", f"{figures['journal_records_verified']} journal records"),
        ("next tries at known tasks, foreseen before they were learned", f"{warned['tries']} at {warned['tasks']} tasks"),
        ("a success was expected more than a failure (AUC, chance 0.5)", _with_interval(warned, "auc")),
        ("error of what was expected (Brier) / of the base rate", f"{warned['brier']} / {warned['base_rate_brier']}"),
        ("smaller by", _with_interval(warned, "brier_gain")),
        ("nearest outcome ended like the unseen try", f"{foresight['nearest_outcome_ended_alike']} of {foresight['tries']}"),
        ("the best guess without memory", f"{foresight['best_constant_guess']} of {foresight['tries']}"),
        ("all in all", f"{figures['seconds']:.1f} s"),
    ]
    console().print(table(("figure", "value"), rows))


def _with_interval(figures: dict[str, Any], name: str) -> str:
    lower, upper = figures[f"{name}_interval"] or (None, None)
    return f"{figures[name]} (95 %: {lower} to {upper})"
