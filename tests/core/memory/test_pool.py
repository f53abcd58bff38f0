"""Threads beside a call."""

import os
import signal
import subprocess
import sys
import threading
from typing import NoReturn

import pytest

from alma.errors import StorageError
from alma.memory.pool import Job, Pool


def test_a_system_that_gives_no_thread_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("test", closed="it was closed")

    def no_memory(_: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_memory)
        with pytest.raises(StorageError, match="no thread could be started: can't start new thread"):
            pool.submit(int)

    made = list[int]()
    pool.submit(lambda: made.append(7))
    pool.close()
    assert made == [7]
    with pytest.raises(StorageError, match="it was closed"):
        pool.submit(int)


def test_a_job_that_no_thread_began_is_done_by_whoever_needs_it_and_once() -> None:
    made = list[int]()
    job = Job(lambda: made.append(7))
    job.result()
    job.run()
    assert made == [7]


def test_an_error_of_a_job_is_its_callers() -> None:
    job = Job(lambda: 1 // 0)
    pool = Pool("test", closed="it was closed")
    pool.submit(job.run)
    pool.close()
    with pytest.raises(ZeroDivisionError):
        job.result()


def run(program: str) -> list[str]:
    """The lines that a program prints, which ends by itself."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


INTERRUPTED = """
import random, signal
from alma.memory.pool import WORKERS, Job, Pool

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
pool, interrupts = Pool("test", closed="it was closed"), 0
for _ in range(WORKERS):
    pool.submit(int)
while interrupts < 2_000:
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 1e-4))
        try:
            while True:
                job = Job(int)
                pool.submit(job.run)
                job.result()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
job = Job(lambda: "well")
pool.submit(job.run)
print(job.result())
pool.close()
"""

AFTER_THE_END = """
import atexit, threading, time
from alma.memory.pool import Job, Pool

pool = Pool("test", closed="it was closed")

def work():
    time.sleep(0.2)  # the main thread has ended
    made = threading.Event()
    pool.submit(made.set)
    print(made.wait(20))

threading.Thread(target=work).start()
"""

FORKED = """
import os, threading
from alma.errors import StorageError
from alma.memory.pool import Job, Pool

begun, over = threading.Event(), threading.Event()

def work():
    begun.set()
    over.wait(20)

pool = Pool("test", closed="it was closed")
job = Job(work)
pool.submit(job.run)
begun.wait(20)
child = os.fork()
if not child:
    try:
        job.result()
    except StorageError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
over.set()
job.result()
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on this system")
def test_interrupts_leave_no_lock_behind() -> None:
    assert run(INTERRUPTED) == ["well"]


def test_threads_serve_others_that_go_on_after_the_main_one() -> None:
    assert run(AFTER_THE_END) == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_forked_in_the_middle_of_a_job_does_not_wait_for_it() -> None:
    assert run(FORKED) == ["this process was forked in the middle of the call"]
