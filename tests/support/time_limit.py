"""Lets a test that hangs fail by its name, with the stack of each thread, and the tests after it run.

The alarm raises in the main thread, also where that waits for a lock, a thread or a process. It rings again and again, because the clean-up after a
test may wait for the same. A wait that it cannot end (in C code, or on Windows, which has no alarm) is ended with its process by pytest's
`faulthandler_timeout`.
"""

import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SECONDS_BETWEEN_ALARMS = 5


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fails the test if the block takes longer."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def fail(*_: object) -> None:
        faulthandler.dump_traceback(sys.__stderr__ or sys.stderr)
        # Without the traceback: CPython 3.11 has no line for some places that an alarm may ring at, and pytest fails at that.
        pytest.fail(f"took longer than {seconds:g} s", pytrace=False)

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, SECONDS_BETWEEN_ALARMS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
