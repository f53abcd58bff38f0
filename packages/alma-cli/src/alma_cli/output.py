"""Output of commands: JSON for programs, plain lines and tables for people. Control characters in stored text are never sent to the
terminal."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from alma.text import is_safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_json(value: Mapping[str, Any]) -> None:
    """Prints one JSON document on standard output."""
    write_text(f"{json.dumps(value, indent=2, allow_nan=False)}\n")


def print_failure(error: Exception) -> None:
    """Prints the error as one JSON document on standard output, for programs that requested JSON."""
    in_words = getattr(error, "format_message", None)  # for wrong usage, whose message is created only when it is shown
    name, message = ("UsageError", in_words()) if in_words else (type(error).__name__, str(error))
    with suppress(OSError):
        print_json({"error": {"type": name, "message": message}})


def write_text(text: str) -> None:
    """Writes the text to standard output. A missing reader is no failure, because the work is done."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        discard_rest(sys.stdout)


def discard_rest(stream: IO[str]) -> None:
    """Redirects the rest of the output to the null device, because the reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def console(*, stderr: bool = False) -> "Console":
    """Returns a console that prints text as it is and uses colours only on a terminal."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            discard_rest(self.file)

    return Quiet(stderr=stderr, markup=False, highlight=False, emoji=False)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> "Table":
    """Returns a table of plain texts; the columns named in `right` hold figures, and neither these nor those named in `whole` are wrapped."""
    from rich.box import SIMPLE_HEAD
    from rich.text import Text

    from alma_cli.fitting import FittingTable

    made = FittingTable(
        box=SIMPLE_HEAD,
        title=Text(printable(title)) if title else None,
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in columns:
        is_figure = column in right
        made.add_column(column, justify="right" if is_figure else "left", overflow="fold", no_wrap=is_figure or column in whole)
    for row in rows:
        made.add_row(*(Text(printable(str(cell))) for cell in row))
    return made


def counted(number: int, one: str, more: str | None = None) -> str:
    """Returns a number with its noun: "1 call", "2,000 memories"."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def printable(text: str) -> str:
    """Returns the text without characters that control a terminal, change the direction of writing or are invisible; line ends and tabs
    stay."""
    return "".join(mark if is_safe(mark) and mark != "\r" else "\ufffd" for mark in text)
