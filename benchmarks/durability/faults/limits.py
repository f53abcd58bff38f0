"""Processes that get no more descriptors, or no more memory."""

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier

import numpy as np

from alma.errors import AlmaError
from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried, work, work_on_all
from benchmarks.durability.hands import Hand, OutOfMemory, new_hand
from benchmarks.durability.stores import Opens

CALLS = 25
MEGABYTE = 2**20


def no_descriptors(place: Place) -> list[Trial]:
    """The process may open only so many files more."""
    return [
        tried(f"{room} descriptors are left", _with_few_descriptors, place.sample().copy("harmed"), room) for room in range(10)
    ]


def no_memory(place: Place) -> list[Trial]:
    """The process may take only so much memory more. Python's own `MemoryError` is as clear as an error can be."""
    return [
        tried(f"{room} MB are left", _with_little_memory, place.sample().copy("harmed"), room * MEGABYTE)
        for room in (0, 1, 4, 16, 64)
    ]


def _with_few_descriptors(what: str, sample: Sample, room: int) -> Trial:
    """Works in an open store, then has it opened anew, both with few descriptors."""
    hand = _warm_hand(sample, what)
    with _limited(resource.RLIMIT_NOFILE, _most_descriptor() + 1 + room):
        work_on_all(hand)
        hand.open_another()
        _in_threads(hand)
    hand.opens.main.close()
    for alma in hand.extras:
        alma.close()
    again: list[Hand] = []
    with _limited(resource.RLIMIT_NOFILE, _most_descriptor() + 1 + room), suppress(AlmaError):
        again.append(new_hand("again", Opens(sample.store), sample.files, what))
        again[0].takes_any = True
        work_on_all(again[0])
    for each in again:
        work(each, CALLS)
        each.opens.main.close()
    return compared(what, sample, is_harmed=False)


def _in_threads(hand: Hand) -> None:
    """Searches in many threads at once, each of which needs a connection."""
    with ThreadPoolExecutor(6) as threads:
        for future in [threads.submit(hand.opens.main.retrieve, "amber anchor", hand.name) for _ in range(12)]:
            with suppress(AlmaError):
                future.result()


def _with_little_memory(what: str, sample: Sample, room: int) -> Trial:
    hand = _warm_hand(sample, what)
    hand.ends_without_memory = True
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    told = "a call ended with MemoryError, Python's own"
    with _limited(resource.RLIMIT_AS, pages * resource.getpagesize() + room), suppress(OutOfMemory):
        for _ in range(3):
            work_on_all(hand)
        told = ""
    after = new_hand("after", hand.opens, sample.files, what)
    work(after, 2 * CALLS)
    hand.opens.main.close()
    trial = compared(what, sample, is_harmed=False)
    return Trial(what, "error", told) if told and trial.verdict == "unharmed" else trial


@contextmanager
def _limited(limit: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(limit, (soft, hard))


def _most_descriptor() -> int:
    """The largest descriptor in use."""
    with os.scandir("/dev/fd") as found:
        return max(int(each.name) for each in found)


def _warm_hand(sample: Sample, seed: str) -> Hand:
    """A hand that has made calls of every kind before, so that all modules are loaded, and NumPy's OpenBLAS has its buffers."""
    hand = new_hand("limited", Opens(sample.store), sample.files, seed)
    hand.takes_any = True
    work_on_all(hand)
    work(hand, CALLS)
    _take_buffers()
    return hand


def _take_buffers() -> None:
    """Computes products of matrices in two threads at once.

    OpenBLAS takes a buffer for each of the threads that compute at the same time, keeps it, and ends the process itself if it gets none.
    ALMA computes in the caller's thread and in one of its own.
    """
    started, large = Barrier(2), np.ones((1024, 1024), np.float32)

    def multiply() -> None:
        started.wait()
        assert (large @ large)[0, 0] == len(large)

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(multiply)
        multiply()
        other.result()
