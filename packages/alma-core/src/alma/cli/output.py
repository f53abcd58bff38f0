"""What a command prints: JSON for programs, plain lines and tables for people. Stored text is shown, never obeyed."""

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
    """One JSON document on standard output."""
    tell(f"{json.dumps(value, indent=2, allow_nan=False)}\n")


def print_failure(error: Exception) -> None:
    """The error as one JSON document on standard output, for programs that asked for JSON."""
    in_words = getattr(error, "format_message", None)  # of wrong usage, which is put into words only when it is shown
    name, message = ("UsageError", in_words()) if in_words else (type(error).__name__, str(error))
    with suppress(OSError):
        print_json({"error": {"type": name, "message": message}})


def tell(text: str) -> None:
    """The text on standard output. That nobody reads it is no reason to fail: what was asked for was done."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        stop_telling(sys.stdout)


def stop_telling(stream: IO[str]) -> None:
    """Lets whatever is still to be written there go nowhere, since nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def console(*, stderr: bool = False) -> "Console":
    """A console that takes text as it is and colours only on a terminal."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            stop_telling(self.file)

    return Quiet(stderr=stderr, markup=False, highlight=False, emoji=False)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, right: Sequence[str] = ()
) -> "Table":
    """A table of plain texts; the columns named in `right` hold figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(
        box=SIMPLE_HEAD,
        title=Text(printable(title)) if title else None,
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(printable(str(cell))) for cell in row))
    return made


def printable(text: str) -> str:
    """The text without characters that steer a terminal, change the direction of writing or cannot be seen; line ends and tabs stay."""
    return "".join(mark if is_safe(mark) and mark != "\r" else "\ufffd" for mark in text)
