"""Real processes whose system calls fail, by a library of our own that the machine's C compiler makes; see `failing_calls.c`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

SOURCE = Path(__file__).with_suffix(".c")
PROGRAM = Path(__file__).with_name("faulty_process.py")
COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
CAN_FAIL = sys.platform == "linux" and COMPILER is not None
WHY_NOT = "the calls of a process are made to fail on Linux, by a library that a C compiler makes"

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A fork ends the threads of numerical libraries."""


def build(folder: Path) -> Path:
    """Compiles the library."""
    assert COMPILER
    library = folder / "failing_calls.so"
    command = [COMPILER, "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    return library


def environment(library: Path, folder: Path, **settings: object) -> dict[str, str]:
    """The environment of a process whose calls on files below a folder may fail: `calls`, `at`, `how`, `times`."""
    chosen = {f"FAULT_{name.upper()}": str(value) for name, value in settings.items()}
    return {**os.environ, "LD_PRELOAD": str(library), "FAULT_FOLDER": str(folder.resolve()), **ONE_THREAD, **chosen}


class Told:
    """What a child said, and how it ended: negative for a signal."""

    def __init__(self, events: list[tuple[str, Any]], *, may_abort: bool = False) -> None:
        self.events = events
        self._deaths = (-9, -6) if may_abort else (-9,)

    def all(self, what: str) -> list[Any]:
        return [value for name, value in self.events if name == what]

    def one(self, what: str) -> Any:
        """The last thing of a name that it said; `None` if it said none."""
        return next(iter(reversed(self.all(what))), None)

    @property
    def was_killed(self) -> bool:
        """Whether it was killed, or one of its libraries ended it: those written in Rust do that where there is no memory."""
        return self.one("ended") in self._deaths

    @property
    def ended_well(self) -> bool:
        return self.one("ended") == 0 and not self.all("broken") and not self.all("foreign")


class Faulty:
    """A process that forks a child for each thing asked of it, whose calls on files below a folder may fail; see `faulty_process.py`."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(library, folder),
        )

    def ask(self, do: str, place: Path, **more: Any) -> Told:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{json.dumps({'do': do, 'place': str(place.resolve()), **more})}\n")
        self._process.stdin.flush()
        events = [(name, value) for name, value in json.loads(self._process.stdout.readline())]
        return Told(events, may_abort=more.get("calls") == "malloc")

    def ask_well(self, do: str, place: Path, **more: Any) -> Told:
        """Asks for something that has to go well."""
        told = self.ask(do, place, **more)
        assert told.ended_well, told.events
        return told

    def close(self) -> None:
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
