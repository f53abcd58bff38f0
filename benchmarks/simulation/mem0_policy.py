"""A policy that remembers by mem0, without its LLM, in the environment of another Python: it does what worked on the nearest task that mem0 finds."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer.client import ROOT, PeerError
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.policies import nearest_offered

DRIVER = "benchmarks.peer.mem0_nearest"


class Mem0Policy:
    """Chooses the strategy of the memory that mem0 finds first, and at random where it finds none."""

    def __init__(self, process: "subprocess.Popen[str]", embedder: CachedEmbedder, chance: np.random.Generator) -> None:
        self._process, self._embedder, self._chance = process, embedder, chance

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        found = self._ask({"nearest": [task, self._vector(task)]})
        if found is None:
            return offered[int(self._chance.integers(len(offered)))]
        return nearest_offered(found[0], offered, self._embedder.embed)

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        if succeeded:
            self._ask({"learn": [task, strategy, self._vector(task)]})

    def _vector(self, task: str) -> list[float]:
        vector: list[float] = self._embedder.embed([task])[0].tolist()
        return vector

    def _ask(self, call: dict[str, Any]) -> Any:
        assert self._process.stdin
        print(json.dumps(call), file=self._process.stdin, flush=True)
        return reply(self._process)


@contextmanager
def mem0_policy(python: Path, embedder: CachedEmbedder, chance: np.random.Generator) -> Iterator[Mem0Policy]:
    """Yields the policy with an empty memory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [str(python), "-m", DRIVER, folder, str(embedder.fingerprint.dimension)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        with process:
            reply(process)
            yield Mem0Policy(process, embedder, chance)
            assert process.stdin
            process.stdin.close()


def reply(process: "subprocess.Popen[str]") -> Any:
    """Returns the next answer of the other process. `PeerError` if it ended."""
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise PeerError(
            f"mem0, run by {process.args!r}, ended with {process.wait()}; does that Python have mem0ai and qdrant-client?"
        )
    return json.loads(line)
