"""What a process sees in a store, project by project: read from an export, which says everything, and from the journal."""

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alma import ALMA

ALL = 2**31


@dataclass(slots=True)
class Sight:
    """One project. `journal` has number, actor and operation of each record, oldest first; records of episodes are by kind and key."""

    project: str
    memories: dict[str, dict[str, Any]] = field(default_factory=dict)
    records: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    journal: list[tuple[int, str, str]] = field(default_factory=list)
    content_hash: str = ""

    @property
    def live(self) -> set[str]:
        """The memories that are not archived."""
        return {memory_id for memory_id, memory in self.memories.items() if memory["archived_at"] is None}


def sights(alma: ALMA) -> dict[str, Sight]:
    """All projects of the store."""
    return {name: sight(alma.for_project(name)) for name in alma._store.storage.project_names()}  # type: ignore[attr-defined] # of SQL stores


def sight(alma: ALMA) -> Sight:
    """One project."""
    file = io.BytesIO()
    alma.export(file)
    seen = Sight(alma.project_id)
    for line in file.getvalue().splitlines()[1:]:
        _take_in(seen, json.loads(line))
    records = alma._room.project.newest_records(ALL)
    seen.journal = [(record.seq, record.actor, record.operation) for record in reversed(records)]
    seen.content_hash = alma.content_hash()
    return seen


def _take_in(seen: Sight, line: dict[str, Any]) -> None:
    match line["type"]:
        case "memory":
            seen.memories[line["id"]] = line
        case "record":
            seen.records[line["kind"], line["key"]] = line


def is_whole_export(path: Path) -> bool:
    """Whether a file ends with the line that says what came before it."""
    data = path.read_bytes()
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    end = json.loads(last)
    return bool(end.get("type") == "end" and end["sha256"] == hashlib.sha256(body + b"\n").hexdigest())


def words_in_files(folder: Path, words: Iterable[str]) -> list[str]:
    """Those of the words that are in any file of a folder, in whatever encoding a store might use."""
    held = b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).lower()
    return [word for word in words if word.lower().encode() in held or word.lower().encode("utf-16-le") in held]
