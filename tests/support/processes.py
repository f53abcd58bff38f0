"""Starts processes that work on one store at the same time."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

Worker = subprocess.Popen[str]
PROGRAM = Path(__file__).with_name("worker.py")


@contextmanager
def workers(*commands: Sequence[object]) -> Iterator[list[Worker]]:
    """A process for each command of `worker.py`, all of them ready. None outlives the block."""
    with ExitStack() as stack:
        started = [stack.enter_context(worker(*command)) for command in commands]
        for process in started:
            assert answer(process) == "ready"
        yield started


@contextmanager
def worker(*command: object) -> Iterator[Worker]:
    """One process, killed at the end of the block if it is still running."""
    arguments = [sys.executable, str(PROGRAM), *map(str, command)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def start(*processes: Worker) -> None:
    """Lets processes that are ready go to work."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def answer(process: Worker) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finished(process: Worker) -> list[str]:
    """All lines that a process still prints; it has to end well and without a complaint."""
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    return out.split()
