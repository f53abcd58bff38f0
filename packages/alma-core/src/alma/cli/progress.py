"""How far a long command is, on standard error, where a person is looking."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma.cli.output import console


@contextmanager
def bar(title: str, *, is_hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar to be told how much is done, of how much; none without a terminal."""
    if is_hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
