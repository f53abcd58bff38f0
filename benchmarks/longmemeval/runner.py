"""The command: reads the questions, asks ALMA, prints the table, writes JSON."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchmarks.arguments import positive
from benchmarks.longmemeval import report
from benchmarks.longmemeval.questions import Question, read_questions
from benchmarks.longmemeval.recall import MODES, NEVER_ASKED, Haystack, QuestionClock, RememberingEmbedder
from benchmarks.records import DataError
from benchmarks.screen import wide_console

Reader = Callable[..., list[Question]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs LongMemEval as the command line says."""
    run_command(
        read_questions, name="LongMemEval", prog="python -m benchmarks.longmemeval", description=__doc__, arguments=arguments
    )


def run_command(read: Reader, *, name: str, prog: str, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Runs a benchmark as the command line says. Ends the process with 1 and a message if the data cannot be used.

    With all modes, also if the searches together do not find more than each alone.
    """
    options = _parser(prog, description).parse_args(arguments)
    console = wide_console()
    try:
        questions = read(options.data, limit=options.limit, seed=options.seed)
    except DataError as error:
        sys.exit(str(error))
    modes = list(MODES) if options.mode == "all" else [options.mode]
    found = run(questions, modes=modes, embedder=options.embedder, console=console)
    result = [report.ceiling(questions)]
    for mode in modes:
        result += report.rows(mode, questions, found[mode])
    if len(modes) > 1:
        result += report.gains(modes[0], modes[1:], questions, found)
    unbeaten = report.unbeaten(modes[0], modes[1:], result)
    report.show(console, result, f"{name}, sessions, {len(questions)} questions, embedder {options.embedder}")
    if options.json:
        body = {
            "data": options.data.name,
            "embedder": options.embedder,
            "seed": options.seed,
            "rows": report.as_json(result),
            "unbeaten": unbeaten,
        }
        options.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if unbeaten:
        sys.exit("; ".join(unbeaten))


def run(questions: Sequence[Question], *, modes: Sequence[str], embedder: str, console: Console) -> dict[str, list[list[int]]]:
    """The rankings of every question in each mode, in the order of the questions. Each haystack has a project of its own.

    The store's clock stands at the moment at which a question was asked.
    """
    from alma import ALMA
    from alma.embedding import create_embedder

    model = RememberingEmbedder(create_embedder(embedder))
    found: dict[str, list[list[int]]] = {mode: [] for mode in modes}
    clock = QuestionClock()
    with (
        tempfile.TemporaryDirectory(prefix="haystacks-") as folder,
        ALMA.open(folder, project_id="start", embedding_provider=model, clock=clock) as store,
    ):
        haystack: Haystack | None = None
        for number, question in enumerate(track(questions, "Asking", console=console)):
            clock.now = question.asked_at or NEVER_ASKED
            if haystack is None or haystack.sessions is not question.sessions:
                haystack = Haystack(store.for_project(f"haystack {number}"), question.sessions)
            for mode in modes:
                found[mode].append(haystack.ranking(question, mode))
    return found


def _parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--data", type=Path, required=True, help="the public JSON array, or JSON lines, gzipped or not")
    parser.add_argument("--limit", type=positive, help="only the first so many questions")
    parser.add_argument("--mode", choices=[*MODES, "all"], default="all", help="which searches take part (default: each in turn)")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--seed", type=int, default=0, help="of the order of sessions (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
