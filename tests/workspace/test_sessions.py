"""The sessions of nox run every suite, and depend on all that their suites use."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from selection import SHARED, Extent, closure

ROOT = Path(__file__).resolve().parents[2]


def load_noxfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOXFILE = load_noxfile()
CONTRACTS = [name for name, session in NOXFILE.SESSIONS.items() if Extent.CONTRACTS in (session.own, session.below)]


class CommandsOnly:
    """A session that notes its commands and runs none of them."""

    parallel = True
    posargs = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: list[tuple[str, ...]] = []
        self.synced: list[tuple[tuple[str, ...], str]] = []

    def run(self, *command: str, env: dict[str, str] | None = None, **options: Any) -> str:
        self.commands.append(command)
        if "sync" in command and env:
            self.synced.append((tuple(command[command.index("sync") :]), env["UV_PROJECT_ENVIRONMENT"]))
        return "1"

    def log(self, text: str) -> None: ...

    def error(self, text: str) -> None:
        raise AssertionError(text)

    @property
    def tests(self) -> list[str]:
        """The paths that pytest is given."""
        runs = [command for command in self.commands if "pytest" in command]
        return [each for command in runs for each in command if each.startswith("tests/")]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Returns the session of a name, after it has noted its commands."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(NOXFILE, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(NOXFILE, "BROWSERS", ("sh",))
    monkeypatch.setattr(NOXFILE, "NPM", "sh")

    def note(name: str) -> CommandsOnly:
        session = CommandsOnly(name)
        getattr(NOXFILE, name.removesuffix("-contracts").replace("-", "_"))(session)
        return session

    return note


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def test_the_sessions_run_every_suite(commands: Any) -> None:
    run = {path for name in NOXFILE.SESSIONS for path in commands(name).tests}
    files = {path.relative_to(ROOT) for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert {str(file) for file in files if not is_within(str(file), tuple(run))} == set()


@pytest.mark.parametrize("name", NOXFILE.SESSIONS)
def test_a_session_is_about_the_suites_that_it_runs(name: str, commands: Any) -> None:
    about = NOXFILE.SESSIONS[name].about
    assert [path for path in commands(name).tests if not is_within(path, about)] == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts_are_a_part_of_the_whole(name: str, commands: Any) -> None:
    whole, part = commands(name).tests, commands(f"{name}-contracts").tests
    assert part
    assert [path for path in part if not is_within(path, tuple(whole)) or not (ROOT / path).exists()] == []
    assert set(part) != set(whole)


@pytest.mark.parametrize("name", NOXFILE.SESSIONS)
def test_every_path_that_a_session_depends_on_is_there(name: str) -> None:
    session = NOXFILE.SESSIONS[name]
    assert [path for path in (*session.about, *session.reads, *SHARED) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("package", NOXFILE.PROJECTS)
def test_some_session_is_about_every_package(package: str) -> None:
    assert any(f"packages/{package}" in session.about for session in NOXFILE.SESSIONS.values())


@pytest.mark.parametrize("name", NOXFILE.SESSIONS)
def test_a_session_stands_on_all_packages_that_its_suites_import(name: str, commands: Any) -> None:
    session = NOXFILE.SESSIONS[name]
    known = {*closure(session.installs, NOXFILE.PROJECTS), *(path.removeprefix("packages/") for path in session.about)}
    imported = {each for path in commands(name).tests for each in imports_of(ROOT / path)} & set(NOXFILE.PROJECTS)
    assert session.always or imported <= known


def imports_of(path: Path) -> Iterator[str]:
    """The packages of ours that a suite imports, by their names as distributions."""
    for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            yield from (module.partition(".")[0].replace("_", "-") for module in modules)


def test_one_session_runs_what_the_others_leave_out_as_exhaustive() -> None:
    suites = [path for suite in ("core", "faults") for path in (ROOT / "tests" / suite).rglob("*.py")]
    marked = {path.relative_to(ROOT) for path in suites if "mark.exhaustive" in path.read_text("utf-8")}
    assert {str(path) for path in marked} == {*NOXFILE.EXHAUSTIVE}


def test_sessions_share_an_environment_only_if_they_sync_it_alike(commands: Any) -> None:
    synced = {environment: arguments for name in NOXFILE.SESSIONS for arguments, environment in commands(name).synced}
    last = [(name, *commands(name).synced[-1]) for name in NOXFILE.SESSIONS if commands(name).synced]
    assert [name for name, arguments, environment in last if synced[environment] != arguments] == []
    assert len({arguments for _, arguments, _ in last}) == len({environment for _, _, environment in last})


def test_something_always_runs_tests(commands: Any) -> None:
    assert {path for name, each in NOXFILE.SESSIONS.items() if each.always for path in commands(name).tests}
