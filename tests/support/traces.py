"""Counts what a call enters: files, functions and the deepest chain of ALMA's own code."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import alma
import alma_guard
import alma_learning

OWN = tuple(str(Path(str(package.__file__)).parent) for package in (alma, alma_guard, alma_learning))
"""The core and the two packages that it requires."""


class Trace(NamedTuple):
    """How much of ALMA's own code one call enters."""

    files: int
    calls: int
    depth: int


def trace(call: Callable[[], object]) -> Trace:
    """Runs a call, and returns what it enters in this thread. Comprehensions do not count, for newer versions of Python have them inline."""
    files: set[str] = set()
    calls = depth = deepest = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, depth, deepest
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(OWN) or code.co_name.startswith("<"):
            return
        depth += 1 if event == "call" else -1
        if event == "call":
            files.add(code.co_filename)
            calls += 1
            deepest = max(deepest, depth)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Trace(len(files), calls, deepest)
