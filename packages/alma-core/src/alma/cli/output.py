"""What a command prints: JSON for programs, plain lines and tables for people. Stored text is shown, never obeyed."""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def console(*, stderr: bool = False) -> "Console":
    """A console that takes text as it is and colours only on a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


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
    """The text without control characters, which could steer a terminal; line ends and tabs stay."""
    return "".join("\ufffd" if unicodedata.category(mark) in ("Cc", "Cs") and mark not in "\n\t" else mark for mark in text)
