"""A cloned repository may bring any file under `.alma`: links, pipes and huge files. Hooks and the learner leave what these lead to alone."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma_agents import hook, index, spool
from alma_agents.learning import learn_spools, rebuild

SESSION = "6f0c"
PAYLOAD: dict[str, Any] = {
    "session_id": SESSION, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t",
    "tool_input": {"command": "pytest"}, "error": "Exit code 1\nModuleNotFoundError: No module named 'flask'", "is_interrupt": False,
}  # fmt: skip


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """The folder of the hooks in a project."""
    (tmp_path / "shop" / ".alma").mkdir(parents=True)
    (tmp_path / "shop" / ".alma" / "config.yaml").write_text("alma: {project_id: shop, embedding_provider: hash}\n")
    return tmp_path / "shop" / ".alma" / "agents"


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of the user, with an old file and a folder in it."""
    papers = tmp_path / "papers"
    (papers / "letters").mkdir(parents=True)
    (papers / "thesis.jsonl").write_text(json.dumps({"over": True}))
    os.utime(papers / "thesis.jsonl", (0, 0))
    os.utime(papers / "letters", (0, 0))
    return papers


def happened(agents: Path) -> str:
    return hook.answered({**PAYLOAD, "cwd": str(agents.parent.parent)}, "claude-code")


@pytest.mark.parametrize("linked", ["agents", "spool"])
def test_a_link_in_the_place_of_the_spool_costs_no_file_and_gets_none(agents: Path, papers: Path, linked: str) -> None:
    if linked == "agents":
        agents.symlink_to(papers.parent / "elsewhere")
        (papers.parent / "elsewhere").mkdir()
        papers.rename(papers.parent / "elsewhere" / "spool")
        papers = papers.parent / "elsewhere" / "spool"
    else:
        agents.mkdir()
        (agents / "spool").symlink_to(papers)
    assert happened(agents) == ""
    learn_spools(str(agents))
    assert sorted(path.name for path in papers.iterdir()) == ["letters", "thesis.jsonl"]


def test_only_sessions_are_taken_from_the_spool(agents: Path, papers: Path) -> None:
    agents.mkdir()
    papers.rename(agents / "spool")
    (agents / "spool" / f"{'a' * 32}.jsonl").symlink_to(agents.parent / "config.yaml")
    os.mkfifo(agents / "spool" / f"{'b' * 32}.jsonl")
    learn_spools(str(agents))
    assert len(list((agents / "spool").iterdir())) == 4
    assert (agents.parent / "config.yaml").is_file()


@pytest.mark.parametrize("name", ["spool/{session}", "fired-claude-code", "index.json.{pid}.new"])
def test_a_link_in_the_place_of_a_file_is_not_followed(agents: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "profile"
    target.write_text("mine")
    os.utime(target, (0, 0))
    (agents / "spool").mkdir(parents=True)
    session = os.path.basename(spool.file_of(str(agents), SESSION))
    (agents / name.format(session=session, pid=os.getpid())).symlink_to(target)
    try:
        happened(agents)
        with ALMA.from_config(agents.parent / "config.yaml") as alma:
            rebuild(alma, str(agents))
    except OSError:
        pass
    assert (target.read_text(), target.stat().st_mtime) == ("mine", 0)


@pytest.mark.parametrize("name", ["index.json", "settings.json", "fired-claude-code"])
def test_a_pipe_in_the_place_of_a_file_holds_no_hook(agents: Path, name: str) -> None:
    agents.mkdir()
    os.mkfifo(agents / name)
    said: list[str] = []
    hook_run = threading.Thread(target=lambda: said.append(happened(agents)), daemon=True)
    hook_run.start()
    hook_run.join(60)
    assert said == [""]


@pytest.mark.parametrize("make", [lambda path: os.symlink("/nowhere", path), os.mkfifo, os.mkdir], ids=["link", "pipe", "folder"])
def test_whatever_is_in_the_place_of_the_lock_no_event_is_lost(agents: Path, make: Callable[[Path], None]) -> None:
    spool.append(str(agents), "another", {"host": "claude-code", "payload": PAYLOAD})
    make(agents / "learner.lock")
    payload = {**PAYLOAD, "cwd": str(agents.parent.parent)}
    assert hook.answered(payload, "claude-code", start=lambda *_: None) == ""
    assert [record["host"] for record in spool.of_session(str(agents), SESSION)] == ["claude-code"]


def test_an_index_of_gigabytes_is_not_read(agents: Path) -> None:
    agents.mkdir()
    with open(agents / "index.json", "wb") as file:
        file.truncate(20 * 1024**3)
    assert index.load(str(agents)) == {}


def test_a_configuration_without_end_is_taken_for_one_that_encrypts(agents: Path) -> None:
    agents.mkdir()
    with open(agents.parent / "config.yaml", "ab") as file:
        file.truncate(20 * 1024**3)
    assert spool.is_sealed(str(agents))
