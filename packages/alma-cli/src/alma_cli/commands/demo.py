"""`alma demo`: the main job on real input."""

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import ConfigurationError
from alma_cli import forecasts, lessons, replay, story
from alma_cli.commands.init import make_project
from alma_cli.exits import Exit
from alma_cli.forecasts import Forecast
from alma_cli.options import CONFIG_FILE, JsonOption
from alma_cli.output import console, print_json, printable
from alma_cli.replay import Run
from alma_cli.story import Asked

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import MemorySlice, StrategyTable

TOP_K = 3
PROJECT = "airline-demo"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Results of the replay: figures, the unseen tasks to show, and failures."""

    figures: dict[str, Any]
    asked: list[Asked]
    failures: tuple[str, ...]


def demo(
    embedder: Annotated[str, typer.Option("--embedder", "-e", help="auto, minilm or hash.")] = "auto",
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the store in this folder, which must not hold one yet.", show_default="a temporary one"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Replay 80 real runs of an airline agent: what outcomes teach about unseen tasks, and how sure that is.

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
        pairs = list(zip(unseen, (found for found, _ in answers), strict=True))
        asked = [Asked(run, found, _tried(alma, run)) for run, found in pairs if run in before and run.task_id in replay.SHOWN]
        stranger = alma.retrieve(task=unseen[0].task, agent=replay.STRANGER, top_k=TOP_K)
        taught = lessons.lessons(alma)
        prompted = max(asked, key=lambda one: one.rules).run
        prompts = _prompts(alma, prompted, before[prompted])
        report = alma.verify()
        memories = alma.get_stats().total
    figures = {
        "embedder": made["embedder"],
        "runs_learned": len(learned),
        "tasks_learned": len(replay.first_tries(learned)),
        "learn_ms": replay.percentiles(learn_times),
        "retrieve_ms": replay.percentiles([spent for _, spent in answers]),
        "memories": memories,
        "store_bytes": sum(path.stat().st_size for path in config.parent.glob("alma.db*")),
        "journal_records_verified": report.records,
        "unseen_tasks": [replay.slice_figures(run, found) for run, found in pairs if run in before],
        "tried": [one.tried.model_dump(mode="json") for one in asked],
        "learned": taught,
        "failure_warning": forecasts.figures(foreseen),
        "foresight": replay.foresight(pairs),
        **prompts,
        "seconds": round(perf_counter() - start, 2),
    }
    failures = (*_failures(pairs, list(before.values()), stranger, report.problems), *_failures_to_learn(taught))
    return Demonstration(figures, asked, failures)


def _tried(alma: "ALMA", run: Run) -> "StrategyTable":
    return alma.strategies(task=run.task, agent=replay.AGENT)


def _prompts(alma: "ALMA", run: Run, before: "MemorySlice") -> dict[str, dict[str, str]]:
    """Returns the prompts for an unseen task, before and after the runs, and for a task unrelated to all runs."""
    after = alma.retrieve(task=run.task, agent=replay.AGENT, top_k=1)
    unknown = alma.retrieve(task=replay.UNKNOWN, agent=replay.AGENT, top_k=1)
    return {
        "prompt": {"task": run.task, "before": before.to_prompt(), "after": after.to_prompt()},
        "unknown": {"task": replay.UNKNOWN, "prompt": unknown.to_prompt(says_if_empty=True)},
    }


def _recall(alma: "ALMA", run: Run) -> "MemorySlice":
    return alma.retrieve(task=run.task, agent=replay.AGENT, top_k=TOP_K)


def _learn(alma: "ALMA", runs: list[Run], *, is_quiet: bool) -> tuple[list[float], list[Forecast]]:
    """Learns the runs in the order of time. The expected success of a repeated task is computed before its next try is learned."""
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
    story.print_story(shown.figures, shown.asked)
    if keep is not None:
        out.print(f"The store is in {keep}: alma verify --config {keep / CONFIG_FILE}", soft_wrap=True)
    for failure in shown.failures:
        out.print(printable(f"FAILED: {failure}"), style="bold red", soft_wrap=True)
