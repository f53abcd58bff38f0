"""The ledger of one writer: a line before each call and a line after it, on disk before the writer goes on."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.durability.intents import Done, Intent, intent_from

SUFFIX = ".ledger"


class Ledger:
    """Appends lines to a new file. One thread writes it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        self._began = 0.0

    def intend(self, intent: Intent) -> None:
        """Notes that a call is about to be made."""
        self._put({"intent": intent.as_json()})
        self._began = perf_counter()

    def acknowledge(self, ids: Mapping[str, str], *, wrote: bool) -> None:
        """Notes that the last call returned."""
        self._end({"ids": dict(ids), "wrote": wrote}, "acknowledged")

    def raised(self, fate: str, error: str) -> None:
        """Notes that the last call raised."""
        self._end({"error": error}, fate)

    def mark(self, project: str, seq: int) -> None:
        """Notes the newest journal record of a project at this moment, to which an undo may go back."""
        self._put({"mark": [project, seq]})

    def complain(self, what: str) -> None:
        """Notes an answer that was wrong, or a child that did not end."""
        self._put({"complaint": what})

    def _end(self, facts: dict[str, Any], fate: str) -> None:
        self._put({**facts, "fate": fate, "seconds": round(perf_counter() - self._began, 4)})

    def _put(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)


@dataclass(slots=True)
class Account:
    """What a ledger says: the calls and marks of one writer, in order, and its complaints."""

    hand: str
    lines: list[Done | tuple[str, int]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def calls(self) -> list[Done]:
        """The calls, in order."""
        return [line for line in self.lines if isinstance(line, Done)]


def read_account(path: Path) -> Account:
    """The account in a ledger, whose last line may be torn. The last call is of unknown fate if nothing is said of it."""
    account = Account(path.stem)
    waiting: Intent | None = None
    for text in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if not text.endswith("\n"):
            break
        line = json.loads(text)
        if "intent" in line:
            waiting = intent_from(line["intent"])
        elif "mark" in line:
            account.lines.append((line["mark"][0], line["mark"][1]))
        elif "complaint" in line:
            account.complaints.append(line["complaint"])
        elif waiting is not None:
            account.lines.append(Done(waiting, **line))
            waiting = None
    if waiting is not None:
        account.lines.append(Done(waiting, "unknown"))
    return account


def accounts(folder: Path) -> list[Account]:
    """The accounts of all writers of a folder, by name."""
    return [read_account(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
