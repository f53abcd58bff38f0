"""`alma demo`: the main job on real input."""

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.cli import replay
from alma.cli.commands.init import make_project
from alma.cli.exits import Exit
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
    """Replay 80 real runs of an airline agent, then ask about tasks that it has not seen.

    \b
    Fails with exit code 1 when nothing is recalled, when another agent sees anything, or when the store does not verify.
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
        learn_times = _learn(alma, learned, is_quiet=is_quiet)
        answers = [replay.timed(partial(_recall, alma, run)) for run in unseen]
        stranger = alma.retrieve(task=unseen[0].task, agent=replay.STRANGER, top_k=TOP_K)
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
        "foresight": replay.foresight(pairs),
        "prompt": {"task": best.task, "before": before[best].to_prompt(), "after": found.to_prompt()},
        "seconds": round(perf_counter() - start, 2),
    }
    failures = _failures(pairs, list(before.values()), stranger, report.problems)
    return Demonstration(figures, slices, failures)


def _recall(alma: "ALMA", run: Run) -> "MemorySlice":
    return alma.retrieve(task=run.task, agent=replay.AGENT, top_k=TOP_K)


def _learn(alma: "ALMA", runs: list[Run], *, is_quiet: bool) -> list[float]:
    from rich.progress import track

    progress = track(runs, description=f"Learning from {len(runs)} runs", console=console(stderr=True), disable=is_quiet)
    return [replay.timed(partial(replay.learn_run, alma, run))[1] for run in progress]


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
    foresight = figures["foresight"]
    rows = [
        ("embedder", figures["embedder"]),
        ("runs learned", figures["runs_learned"]),
        ("learn, ms p50 / p95 (with embedding)", "{p50:.1f} / {p95:.1f}".format_map(figures["learn_ms"])),
        ("retrieve, ms p50 / p95 (with embedding)", "{p50:.1f} / {p95:.1f}".format_map(figures["retrieve_ms"])),
        ("store", f"{figures['store_bytes'] / 1024:,.0f} kB, {figures['memories']} memories"),
        ("verified", f"{figures['journal_records_verified']} journal records"),
        ("nearest outcome ended like the unseen try", f"{foresight['nearest_outcome_ended_alike']} of {foresight['tries']}"),
        ("the best guess without memory", f"{foresight['best_constant_guess']} of {foresight['tries']}"),
        ("all in all", f"{figures['seconds']:.1f} s"),
    ]
    console().print(table(("figure", "value"), rows))
