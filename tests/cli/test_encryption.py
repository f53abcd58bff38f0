"""`alma keygen`, `encrypt`, `decrypt` and `rotate-key`."""

from pathlib import Path

import pytest

CONFIG = Path(".alma", "config.yaml")
DATABASE = Path(".alma", "alma.db")
TASK = "Deploy the zanzibar shop"


@pytest.fixture
def learned(project) -> str:
    return project("learn", "-a", "helena", "-t", TASK, "-o", "success", "--json").json["id"]


def configure(name: str | None) -> None:
    lines = [line for line in CONFIG.read_text(encoding="utf-8").splitlines() if not line.startswith("  encryption:")]
    block = [] if name is None else [f"  encryption: {{key_file: {name}}}"]
    at = next(number for number, line in enumerate(lines) if line.startswith("  storage:"))
    CONFIG.write_text("\n".join([*lines[:at], *block, *lines[at:]]) + "\n", encoding="utf-8")


def is_readable() -> bool:
    return b"zanzibar" in DATABASE.read_bytes()


def test_a_store_is_encrypted_used_given_another_key_and_decrypted(project, learned: str) -> None:
    assert is_readable()
    assert "Keep a copy elsewhere" in project("keygen", "first.key").out
    assert project("encrypt", "--key-file", "first.key").out.startswith("Encrypted ")
    assert not is_readable()

    assert "is encrypted: give its key" in project("stats", code=2).err
    configure("first.key")
    assert learned in project("retrieve", TASK, "-a", "helena", "--json").out
    assert project("verify", "--json").json["ok"] is True
    project("reindex")

    project("keygen", "second.key")
    assert "opens with the new key alone" in project("rotate-key", "--to", "second.key").out
    assert "another key" in project("stats", code=2).err
    configure("second.key")
    assert learned in project("retrieve", TASK, "-a", "helena", "--json").out

    assert "remove `encryption:`" in project("decrypt").out
    assert is_readable()
    assert "is not encrypted" in project("stats", code=2).err
    configure(None)
    assert learned in project("retrieve", TASK, "-a", "helena", "--json").out


def test_the_commands_give_json(project, learned: str) -> None:
    assert Path(project("keygen", "a.key", "--json").json["key_file"]).name == "a.key"
    project("keygen", "b.key")
    assert project("encrypt", "--key-file", "a.key", "--json").json["encrypted"] is True
    changed = project("rotate-key", "--key-file", "a.key", "--to", "b.key", "--json").json
    assert changed["encrypted"] is True
    decrypted = project("decrypt", "--key-file", "b.key", "--json").json
    assert decrypted["encrypted"] is False
    assert Path(decrypted["database"]) == DATABASE.absolute()


def test_a_key_is_never_overwritten(project) -> None:
    project("keygen", "a.key")
    key = Path("a.key").read_bytes()
    assert "never overwritten" in project("keygen", "a.key", code=2).err
    assert Path("a.key").read_bytes() == key


def test_without_a_key_encrypting_says_where_it_comes_from(project) -> None:
    assert "`alma keygen` makes a key" in project("encrypt", code=2).err


def test_the_doctor_opens_an_encrypted_store(project, learned: str) -> None:
    project("keygen", "a.key")
    project("encrypt", "--key-file", "a.key")
    configure("a.key")
    assert project("doctor", "--json").json["ok"] is True
