"""Commands run in this process, in an empty folder of their own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import store_fixtures  # noqa: F401 - the settings of property tests
from alma_cli.app import app


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Alma = Callable[..., Result]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder called `shop`."""
    place = tmp_path / "shop"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def alma(folder: Path) -> Alma:
    """Runs a command, which ends with an exit code and never with an exception."""

    def run(*arguments: str, code: int | None = 0, columns: int = 200) -> Result:
        ended = CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)}, prog_name="alma")
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
        if code is not None:
            assert ended.exit_code == code, ended.output
        return Result(ended.exit_code, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def project(alma: Alma) -> Alma:
    """The same, in a folder with an initialised project that embeds by hashing."""
    alma("init", "--embedder", "hash", "--project-id", "shop")
    return alma
