"""Processes that are forked off a clean one, which has ALMA imported and nothing open, so that a new one costs a few milliseconds."""

import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any

STACK_SECONDS = 2
_CONTEXT = get_context("forkserver")


def prepare() -> None:
    """Has the clean process import what all need."""
    _CONTEXT.set_forkserver_preload(["benchmarks.durability.command", "alma.memory.alma", "alma.aio"])


def started(target: Callable[..., object], *arguments: object) -> BaseProcess:
    """A process that calls `target`."""
    process = _CONTEXT.Process(target=_quietly, args=(target, *arguments), daemon=True)  # none outlives this one
    process.start()
    return process


def _quietly(target: Callable[..., object], *arguments: object) -> None:
    """What ALMA logs, of a snapshot that was not written say, is no fault: it would only be in the way of the progress."""
    logging.getLogger("alma").addHandler(logging.NullHandler())
    logging.getLogger("alma").propagate = False
    target(*arguments)


class Asked:
    """A process whose answer is waited for."""

    def __init__(self, target: Callable[..., object], *arguments: object) -> None:
        self._mine, theirs = _CONTEXT.Pipe()
        self.process = started(_answering, theirs, target, *arguments)
        theirs.close()

    def answer(self, seconds: float) -> Any:
        """What `target` returned. `TimeoutError` if that takes longer, `RuntimeError` with the error if it raised one or died."""
        if not self._mine.poll(seconds):
            kill(self.process)
            raise TimeoutError(f"no answer within {seconds:.0f} s")
        try:
            is_well, value = self._mine.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"the process ended with {self.process.exitcode}") from None
        self.process.join()
        if not is_well:
            raise RuntimeError(value)
        return value

    def ask(self, what: object) -> None:
        """Sends something to a `target` that listens."""
        self._mine.send(what)


def _answering(pipe: Connection, target: Callable[..., object], *arguments: object) -> None:
    import traceback

    try:
        pipe.send((True, target(*arguments, pipe) if getattr(target, "listens", False) else target(*arguments)))
    except BaseException:  # noqa: BLE001 - sent on, whatever it is
        pipe.send((False, traceback.format_exc()))


def kill(process: BaseProcess, *, alone: bool = False) -> None:
    """Ends a process at once, with all that it forked; or `alone`, and its children live on."""
    assert process.pid is not None
    if alone or not _signalled(process.pid, signal.SIGKILL):  # it may not have made itself a group yet
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    process.join()
    if not alone:
        wait_until(lambda: not has_group(process), 1)


def has_group(process: BaseProcess) -> bool:
    """Whether any process is left of those that one forked."""
    assert process.pid is not None
    return _signalled(process.pid, 0)


def _signalled(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def ended(process: BaseProcess, seconds: float) -> bool:
    """Whether a process ends by itself in time. One that does not writes down its stacks, and is killed."""
    process.join(seconds)
    if process.exitcode is not None:
        return True
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGUSR1)
    sleep(STACK_SECONDS)
    kill(process)
    return False


def wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true in time."""
    until = monotonic() + seconds
    while not is_so():
        if monotonic() > until:
            return False
        sleep(0.002)
    return True
