"""Runs in a peer's environment: takes blocks of calls as JSON lines, answers with milliseconds, embedding left out."""

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

from benchmarks.hashed import HashedTexts

SUBJECTS = {
    "alma-memory": ("benchmarks.peer.alma_memory", "Reference"),
    "mem0": ("benchmarks.peer.mem0_local", "Mem0"),
    "chroma": ("benchmarks.peer.chroma_collection", "Chroma"),
    "langgraph": ("benchmarks.peer.langgraph_store", "LangGraph"),
}
"""The module and the class of each peer. Only the one that is asked for is imported: each has an environment of its own."""


class Texts(Protocol):
    """Has the vectors of the benchmark, with what making them took."""

    texts: HashedTexts


class Subject(Protocol):
    """A memory over one folder."""

    embedder: Texts

    def learn(self, task: str, strategy: str, succeeded: bool) -> None:
        """Stores an outcome so that it survives the process."""

    def retrieve(self, query: str) -> int:
        """Returns the number of memories that were found."""


@runtime_checkable
class Fills(Protocol):
    """Stores many outcomes at once, each as a task, a strategy and whether it succeeded."""

    def fill(self, items: Sequence[Sequence[Any]]) -> None:
        """As `learn` of each."""


def answer(subject: Subject, request: dict[str, Any]) -> dict[str, Any]:
    """The times of a block of `learn` or `retrieve`, how much was found, and how often the embedder was called. `fill` is not timed."""
    texts = subject.embedder.texts
    if request["do"] == "fill":
        return {"ms": [], "found": 0, "encodes": _filled(subject, request["items"])}
    times, found, calls = [], 0, texts.calls
    for item in request["items"]:
        embedding, start = texts.seconds, perf_counter()
        if request["do"] == "learn":
            subject.learn(*item)
        else:
            found += subject.retrieve(item)
        times.append(1e3 * (perf_counter() - start - (texts.seconds - embedding)))
    return {"ms": times, "found": found, "encodes": texts.calls - calls}


def _filled(subject: Subject, items: Sequence[Sequence[Any]]) -> int:
    """Stores many outcomes, at once where the subject can, and returns how often the embedder was called."""
    calls = subject.embedder.texts.calls
    if isinstance(subject, Fills):
        subject.fill(items)
    else:
        for item in items:
            subject.learn(*item)
    return subject.embedder.texts.calls - calls


def main(name: str, folder: str) -> None:
    """Serves until standard input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    module, cls = SUBJECTS[name]
    subject: Subject = getattr(import_module(module), cls)(Path(folder))
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(subject, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
