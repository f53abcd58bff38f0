"""A peer as a subject of measurement, seen from this process."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import benchmarks
from benchmarks.texts import Task

ROOT = Path(benchmarks.__file__).parent.parent


class PeerError(Exception):
    """A peer could not be measured."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the driver tells of a block: milliseconds of each call, items found in all, calls of the embedder."""

    ms: list[float]
    found: int
    encodes: int


class Peer:
    """A peer in the environment of another Python, which needs what the peer is made of, and numpy. `benchmarks.peer.driver` has their names."""

    def __init__(self, name: str, python: Path, folder: Path) -> None:
        self._name, self._encodes = name, 0
        self._command = [str(python), "-m", "benchmarks.peer.driver", name, str(folder)]
        self._errors = TemporaryFile("w+")  # noqa: SIM115 - open as long as the process is
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._reply()

    def learn(self, tasks: Sequence[Task]) -> list[float]:
        """Durable, one call a task."""
        return self._ask("learn", [[task.task, task.strategy, task.succeeded] for task in tasks]).ms

    def fill(self, tasks: Sequence[Task]) -> None:
        """As `learn`, at once where the peer can; not timed."""
        self._ask("fill", [[task.task, task.strategy, task.succeeded] for task in tasks])

    def retrieve(self, queries: Sequence[str]) -> list[float]:
        """One call a query. A peer of whose several answers none finds anything would be measured for nothing: an error."""
        answer = self._ask("retrieve", list(queries))
        if len(queries) > 1 and not answer.found:
            raise PeerError(f"none of {len(queries)} retrievals of {self._name} found anything; its figures would mean nothing")
        return answer.ms

    @property
    def encodes(self) -> int:
        """How often its embedder was called."""
        return self._encodes

    def close(self) -> None:
        """Ends the other process."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()

    def _ask(self, do: str, items: Sequence[Any]) -> "Answer":
        if not self._process.stdin:
            raise PeerError(f"{self._name} has no standard input")
        print(json.dumps({"do": do, "items": items}), file=self._process.stdin, flush=True)
        answer = Answer(**self._reply())
        self._encodes += answer.encodes
        return answer

    def _reply(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            code = self._process.wait()
            self._errors.seek(0)
            last = (self._errors.read().strip().splitlines() or ["it said nothing"])[-1]
            raise PeerError(f"{self._name}, run by {self._command[0]}, ended with {code}: {last}")
        reply: dict[str, Any] = json.loads(line)
        return reply
