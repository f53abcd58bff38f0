"""The command: reads the questions, asks ALMA, prints the tables, writes JSON."""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress as Bar

from benchmarks.arguments import positive
from benchmarks.longmemeval import prompts, report
from benchmarks.longmemeval.asking import ask, tasks
from benchmarks.longmemeval.guards import LeakError
from benchmarks.longmemeval.progress import Progress
from benchmarks.longmemeval.questions import Question, in_one_store, read_questions
from benchmarks.longmemeval.recall import FIRST, MODES, Asked
from benchmarks.records import DataError
from benchmarks.screen import wide_console

Reader = Callable[..., list[Question]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs LongMemEval as the command line says."""
    run_command(
        read_questions, name="LongMemEval", prog="python -m benchmarks.longmemeval", description=__doc__, arguments=arguments
    )


def run_command(read: Reader, *, name: str, prog: str, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Runs a benchmark as the command line says. Ends the process with 1 and a message if the data cannot be used, or if anything stored tells
    which session holds the evidence.

    With all modes, also if the searches together do not find more than each alone.
    """
    options = _parser(prog, description).parse_args(arguments)
    console = wide_console()
    modes = list(MODES) if options.mode == "all" else [options.mode]
    try:
        questions = read(options.data, limit=options.limit, seed=options.seed)
        questions = in_one_store(questions) if options.one_store else questions
        progress = Progress(options.resume, _run(options))
        found = _found(questions, modes, progress, options, console)
    except (DataError, LeakError) as error:
        sys.exit(str(error))
    title = f"{name}{', all sessions in one store' if options.one_store else ''}, embedder {options.embedder}"
    unbeaten = _report(questions, modes, found, title, options, console)
    if unbeaten:
        sys.exit("; ".join(unbeaten))


def _run(options: argparse.Namespace) -> dict[str, object]:
    """What the results depend on."""
    digest = hashlib.sha256(options.data.read_bytes()).hexdigest() if options.data.exists() else ""
    named = {name: getattr(options, name) for name in ("limit", "seed", "embedder", "one_store")}
    return {"data": digest, "store": options.store.partition(":")[0], **named}


def _found(
    questions: Sequence[Question], modes: Sequence[str], progress: Progress, options: argparse.Namespace, console: Console
) -> dict[str, list[Asked]]:
    """What every question found in each mode, in the order of the questions."""
    todo = tasks(questions, modes, progress.found)
    with Bar(console=console) as bar:
        shown = bar.add_task("Asking", total=sum(len(task.questions) for task in todo))
        for count in ask(
            todo, progress, embedder=options.embedder, cache=options.cache, workers=options.workers, storage=options.store
        ):
            bar.update(shown, advance=count)
    return {mode: [progress.found[number, mode] for number in range(len(questions))] for mode in modes}


def _report(
    questions: Sequence[Question],
    modes: Sequence[str],
    found: dict[str, list[Asked]],
    title: str,
    options: argparse.Namespace,
    console: Console,
) -> list[str]:
    sessions = {mode: [asked.sessions for asked in found[mode]] for mode in modes}
    result = _rows(report.SESSIONS, questions, modes, sessions)
    unbeaten = report.unbeaten(modes[0], modes[1:], result)
    report.show(console, result, f"{title}: sessions, {len(questions)} questions")
    marked = [number for number, question in enumerate(questions) if question.gold_turns or question.missing_turns]
    turns: list[report.Row] = []
    if marked:
        with_turns = [questions[number] for number in marked]
        places = {mode: [found[mode][number].turns for number in marked] for mode in modes}
        turns = _rows(report.TURNS, with_turns, modes, places)
        report.show(console, turns, f"{title}: turns, {len(marked)} questions")
    body = {
        "data": options.data.name,
        "embedder": options.embedder,
        "seed": options.seed,
        "one_store": options.one_store,
        "rows": report.as_json(result),
        "turns": report.as_json(turns),
        "unbeaten": unbeaten,
        "seconds": prompts.times(found),
    }
    if FIRST in modes:
        body["prompts"] = prompts.show(console, questions, found[FIRST], title)
        body["abstention"] = prompts.show_relevance(console, questions, found[FIRST], title)
    if options.json:
        options.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    return unbeaten


def _rows(
    level: report.Level, questions: Sequence[Question], modes: Sequence[str], rankings: dict[str, list[report.Ranking]]
) -> list[report.Row]:
    result = [report.ceiling(questions, level)]
    for mode in modes:
        result += report.rows(mode, questions, rankings[mode], level)
    if len(modes) > 1:
        result += report.gains(modes[0], modes[1:], questions, rankings, level)
    return result


def _parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--data", type=Path, required=True, help="the public JSON array, or JSON lines, gzipped or not")
    parser.add_argument("--limit", type=positive, help="only the first so many questions")
    parser.add_argument("--mode", choices=[*MODES, "all"], default="all", help="which searches take part (default: each in turn)")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument(
        "--store", default="sqlite", help="sqlite, file, or the URL of a database: postgres://… (default: sqlite)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order of sessions (default: 0)")
    parser.add_argument("--one-store", action="store_true", help="the sessions of all questions in one store")
    parser.add_argument("--workers", type=positive, default=1, help="number of processes (default: 1)")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep the vectors here for later runs")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep the results here, and go on from those that are there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
