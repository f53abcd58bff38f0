"""Progress of a long command, shown on standard error if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma_cli.output import console


@contextmanager
def bar(title: str, *, is_hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yields a callback that updates a progress bar with the amount done and the total; None without a terminal."""
    if is_hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
