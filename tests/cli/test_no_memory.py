"""Where the memory is not made yet, or was deleted: what only reads it, changes it or copies it says so, and makes nothing."""

from pathlib import Path
from typing import Any

import pytest
import typer.main

from alma_cli.app import app

COMMANDS = set(getattr(typer.main.get_command(app), "commands"))  # noqa: B009 - the class has it by no common name

NEEDING: dict[str, list[str]] = {
    "retrieve": ["Deploy", "-a", "helena"],
    "explain": ["Deploy", "m1", "-a", "helena"],
    "strategies": ["Deploy", "-a", "helena"],
    "check": ["Deploy", "-a", "helena"],
    "assess": ["-t", "Deploy", "-a", "helena"],
    "review": [],
    "stats": [],
    "history": ["m1"],
    "undo": ["--to", "0", "--yes"],
    "forget": ["--yes"],
    "quarantine": [],
    "redact": ["--existing", "--yes"],
    "maintain": [],
    "compact": [],
    "reindex": ["--embedder", "hash"],
    "report": ["--output", "-", "--json"],
    "backup": ["copy.db"],
    "verify": [],
    "list": [],
    "show": ["m1"],
    "export": ["copy.jsonl"],
    "migrate": ["--to", "file"],
    "sessions": ["-a", "helena"],
    "work": [],
    "workflow": ["deploy"],
    "wakeup": ["-a", "helena"],
    "webhooks": ["list"],
}
RESEALING = {
    "encrypt": ["--key-file", "a.key"],
    "decrypt": ["--key-file", "a.key"],
    "rotate-key": ["--key-file", "a.key", "--to", "b.key"],
}
MAKING = {"init", "learn", "add", "import", "ingest-traces"}
WITHOUT = {"demo", "doctor", "help", "keygen", "pg-setup", "serve", "token", "ui"}


def test_each_command_is_in_one_list() -> None:
    assert {*NEEDING, *RESEALING, *MAKING, *WITHOUT} == COMMANDS


@pytest.fixture
def deleted(project: Any, folder: Path) -> Any:
    project("keygen", "a.key")
    project("keygen", "b.key")
    for file in (folder / ".alma").glob("alma.db*"):
        file.unlink()
    return project


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", NEEDING)
def test_a_memory_that_is_not_there_is_no_empty_one(deleted: Any, folder: Path, command: str) -> None:
    before = files(folder)
    done = deleted(command, *NEEDING[command], code=3)
    assert "there is no memory in" in done.err
    assert "alma learn" in done.err
    assert files(folder) == before


@pytest.mark.parametrize("command", RESEALING)
def test_a_database_that_is_not_there_is_not_sealed(deleted: Any, folder: Path, command: str) -> None:
    before = files(folder)
    done = deleted(command, *RESEALING[command], code=None)
    assert done.code in {2, 3}
    assert "alma.db" in done.err
    assert files(folder) == before


@pytest.mark.parametrize("storage", ["file", "sqlite"])
def test_the_first_thing_that_is_learned_makes_it(deleted: Any, folder: Path, storage: str) -> None:
    config = folder / ".alma" / "config.yaml"
    config.write_text(config.read_text().replace("storage: sqlite", f"storage: {storage}"))
    before = files(folder)
    assert "there is no memory in" in deleted("stats", code=3).err
    assert files(folder) == before
    deleted("learn", "-a", "helena", "-t", "Deploy", "-o", "success", "-s", "blue-green")
    assert "1 memory" in deleted("stats").out


@pytest.mark.parametrize("content", [b"", b"no database", b"\0" * 8192], ids=["empty", "text", "zeros"])
@pytest.mark.parametrize("command", ["stats", "verify", "learn"])
def test_what_is_no_database_is_named_and_left_alone(deleted: Any, folder: Path, content: bytes, command: str) -> None:
    (folder / ".alma" / "alma.db").write_bytes(content)
    given = ["-a", "helena", "-t", "Deploy", "-o", "success"] if command == "learn" else []
    assert "is not an ALMA database" in deleted(command, *given, code=3).err
    assert files(folder)[".alma/alma.db"] == content
