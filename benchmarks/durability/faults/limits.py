"""Processes that get no more descriptors, or no more memory."""

import os
import resource
from pathlib import Path

from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried, work, work_on_all
from benchmarks.durability.hands import Hand, new_hand
from benchmarks.durability.stores import Opens

CALLS = 25
MEGABYTE = 2**20


def no_descriptors(place: Place) -> list[Trial]:
    """The process may open only so many files more."""
    return [
        tried(f"{room} descriptors are left", _with_few_descriptors, place.sample().copy("harmed"), room) for room in range(9)
    ]


def no_memory(place: Place) -> list[Trial]:
    """The process may take only so much memory more. Python's own `MemoryError` is as clear as an error can be."""
    return [
        tried(f"{room} MB are left", _with_little_memory, place.sample().copy("harmed"), room * MEGABYTE)
        for room in (0, 1, 4, 16, 64)
    ]


def _with_few_descriptors(what: str, sample: Sample, room: int) -> Trial:
    hand = _warm_hand(sample, what)
    used = max(int(name) for name in os.listdir("/dev/fd")) + 1
    return _limited(what, sample, hand, resource.RLIMIT_NOFILE, used + room)


def _with_little_memory(what: str, sample: Sample, room: int) -> Trial:
    hand = _warm_hand(sample, what)
    hand.takes_memory_errors = True
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return _limited(what, sample, hand, resource.RLIMIT_AS, pages * resource.getpagesize() + room)


def _limited(what: str, sample: Sample, hand: Hand, limit: int, value: int) -> Trial:
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value, hard))
    work_on_all(hand)
    try:
        hand.open_another()
    finally:
        resource.setrlimit(limit, (soft, hard))
    work(hand, CALLS)
    for alma in (*hand.extras, hand.opens.main):
        alma.close()
    return compared(what, sample, is_harmed=False)


def _warm_hand(sample: Sample, seed: str) -> Hand:
    """A hand that has made calls of every kind before, so that all modules are loaded."""
    hand = new_hand("limited", Opens(sample.store), sample.files, seed)
    hand.takes_any = True
    work(hand, 3 * CALLS)
    return hand


