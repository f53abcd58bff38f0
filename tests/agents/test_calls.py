"""The same command called in another way: `uv run pytest` for `pytest`, with a variable, in another worktree."""

import subprocess
from pathlib import Path

import pytest

from alma_agents import shell, spool
from alma_agents.attempts import Attempt, attempts
from alma_agents.events import TOOL, Event


def found(*steps: tuple[str, str]) -> list[Attempt]:
    events = [
        Event(TOOL, "codex", "s", tool="shell", call=str(number), command=line, ok=not error, output=error)
        for number, (line, error) in enumerate(steps)
    ]
    return attempts(events)


@pytest.mark.parametrize(
    ("failed", "passed", "strategy"),
    [
        ("pytest -q", "uv run pytest -q", "run it as `uv run pytest -q`"),
        ("jest", "npx jest", "run it as `npx jest`"),
        ("pytest", "python3 -m pytest", "run it as `python3 -m pytest`"),
        ("pytest", "DATABASE_URL=postgres://me:hunter2@db/x pytest", "set DATABASE_URL"),
        ("uv run jest", "jest", "run it as `jest`"),
        ("cd a && pytest", "cd a && CI=1 timeout 60 uv run pytest", "run it as `uv run pytest`; set CI"),
    ],
)
def test_what_passes_when_it_is_called_otherwise_is_learned_so(failed: str, passed: str, strategy: str) -> None:
    (attempt,) = found((failed, "bash: command not found"), (passed, ""))
    assert (attempt.passed, attempt.strategy) == (True, strategy)


@pytest.mark.parametrize("passed", ["pytest", "timeout 60 pytest", "time pytest"])
def test_what_passes_when_it_is_called_alike_teaches_nothing(passed: str) -> None:
    (attempt,) = found(("pytest", "1 failed"), (passed, ""))
    assert attempt.strategy == ""


@pytest.mark.parametrize(
    ("line", "cwd", "strategy"),
    [
        ("npm install vite", "/p", "run npm install vite"),
        ("cd web && npm install vite", "/p", "run npm install vite in web"),
        ("npm install vite", "/p/web", "run npm install vite in web"),
    ],
)
def test_a_fix_says_in_which_folder_of_the_repository_it_was_run(line: str, cwd: str, strategy: str, tmp_path: Path) -> None:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    where = str(tmp_path) + cwd
    steps = (("make", False, str(tmp_path / "p")), (line, True, where), ("make", True, str(tmp_path / "p")))
    (attempt,) = attempts(
        Event(TOOL, "codex", "s", tool="shell", call=str(number), command=command, ok=ok, cwd=folder)
        for number, (command, ok, folder) in enumerate(steps)
    )
    assert attempt.strategy == strategy


def test_what_was_called_as_a_fix_says_gets_no_such_fix() -> None:
    (attempt,) = found(("pytest", "bash: pytest: command not found"), ("CI=1 uv run pytest", ""))
    for line, is_so in (("CI=1 uv run pytest", True), ("uv run pytest", False), ("pytest", False)):
        judged = shell.judged(line, False)
        assert judged is not None
        assert judged.is_called(attempt.strategy) is is_so


def test_a_command_has_the_same_name_in_each_clone_and_another_in_each_folder() -> None:
    def call(line: str, root: str, base: str) -> str:
        judged = shell.judged(line, False, root, base)
        assert judged is not None
        return judged.call

    assert call("pytest", "/a/shop", "/a/shop") == call("pytest", "/b/shop2", "/b/shop2") == "pytest"
    assert call("pytest", "/a/shop/web", "/a/shop") == call("cd web && pytest", "/b", "/b") == "pytest @web"
    assert call("cd /a/shop/web && pytest", "/a/shop", "/a/shop") == "pytest @web"
    assert call("cd .. && pytest", "/a/shop", "/a/shop") == "pytest @/a"
    assert call("pytest", "/a/shopping", "/a/shop") == "pytest @/a/shopping"
    assert call("CI=1 uv run pytest", "/a", "/a") != call("uv run pytest", "/a", "/a") != call("pytest", "/a", "/a")


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A linked worktree of `shop`."""
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["worktree", "add", "-q", "../other"]):
        (tmp_path / "shop").mkdir(exist_ok=True)
        subprocess.run([*git, *words], cwd=tmp_path / "shop", check=True, capture_output=True)
    (tmp_path / "other" / "web").mkdir()
    return tmp_path / "other"


def test_a_worktree_has_the_memory_of_its_checkout(worktree: Path) -> None:
    shop = worktree.parent / "shop"
    assert spool.folder_for(str(worktree / "web")) == ""
    (shop / ".alma").mkdir()
    (shop / ".alma" / "config.yaml").write_text("alma: {project_id: p}")
    assert spool.folder_for(str(worktree / "web")) == str(shop / ".alma" / "agents")
    assert spool.folder_for(str(shop)) == str(shop / ".alma" / "agents")


def test_worktrees_share_their_project_in_the_memory_of_the_home(worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(worktree.parent / "home"))
    folder = str(worktree.parent / "home" / ".alma" / "agents")
    assert spool.project_of(folder, str(worktree / "web")) == spool.project_of(folder, str(worktree.parent / "shop"))


@pytest.mark.parametrize("back", ["", "/elsewhere/.git\n"])
def test_a_folder_that_only_claims_to_be_a_worktree_has_no_memory_of_another(back: str, worktree: Path) -> None:
    kept = worktree.parent / "shop" / ".git" / "worktrees" / "other"
    (kept / "gitdir").write_text(back)
    (worktree.parent / "shop" / ".alma").mkdir()
    (worktree.parent / "shop" / ".alma" / "config.yaml").write_text("alma: {project_id: p}")
    assert spool.folder_for(str(worktree)) == ""
