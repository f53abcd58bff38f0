"""The terminal that benchmarks print to."""

from rich.console import Console

LEAST_WIDTH = 130


def wide_console() -> Console:
    """A console wide enough for the tables, also where the output goes to a file."""
    console = Console()
    if console.width < LEAST_WIDTH:
        console = Console(width=LEAST_WIDTH)
    return console
