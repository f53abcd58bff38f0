"""The commands as a shell runs them: exit codes, clean streams, two processes on one store."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma_cli.app import app

LEARN = ("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "Empty fields first")


def alma(*arguments: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    plain = {
        name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS")
    }
    return subprocess.run(
        [sys.executable, "-m", "alma", *arguments], cwd=folder, capture_output=True, env=plain | environ, encoding="utf-8"
    )


@pytest.fixture
def project(project: Callable[..., object], folder: Path) -> Path:
    """The folder of a project that was made in this process."""
    return folder


@pytest.mark.slow
def test_a_project_that_one_process_makes_is_open_to_the_next(tmp_path: Path) -> None:
    made = alma("init", "-e", "hash", "-p", "shop", folder=tmp_path)
    found = alma("stats", "--json", folder=tmp_path)

    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(found.stdout)["project_id"] == "shop"


@pytest.mark.slow
def test_one_process_learns_and_another_retrieves(project: Path) -> None:
    learned = alma(*LEARN, "--json", folder=project)
    found = alma("retrieve", "Test the login form", "-a", "helena", "--json", folder=project)

    assert json.loads(found.stdout)["recalled"][0]["memory"]["id"] == json.loads(learned.stdout)["id"]
    assert (learned.stderr, found.stderr) == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("command", [("stats",), ("verify",), ("doctor",), ("retrieve", "Test", "-a", "helena"), ("--help",)])
def test_piped_output_has_no_escape_codes(project: Path, command: tuple[str, ...]) -> None:
    CliRunner().invoke(app, LEARN)
    ended = alma(*command, folder=project)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.slow
def test_the_demo_keeps_its_progress_off_standard_output(tmp_path: Path) -> None:
    ended = alma("demo", "-e", "hash", "--json", folder=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["ok"] is True
    assert ended.stderr == ""


@pytest.mark.slow
def test_an_error_has_its_code_one_line_and_no_traceback(tmp_path: Path) -> None:
    ended = alma("retrieve", "T", "-a", "helena", folder=tmp_path)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_current_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    script = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, '-m', 'alma', 'stats'])"
    (tmp_path / "gone").mkdir()
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "gone", capture_output=True, text=True)

    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("command", "code"), [((*LEARN, "--json"), 0), (("stats",), 0), (("export", "-"), 141)])
def test_a_reader_that_went_away_is_no_crash_and_no_complaint(project: Path, command: tuple[str, ...], code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "alma", *command], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == code


@pytest.mark.slow
def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    assert "Traceback" in alma("--debug", "stats", folder=tmp_path).stderr


@pytest.mark.slow
def test_a_damaged_database_is_a_storage_error(project: Path) -> None:
    (project / ".alma" / "alma.db").write_bytes(b"garbage" * 100)
    ended = alma("stats", folder=project)

    assert ended.returncode == 3
    assert "alma.db" in ended.stderr


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_the_table_all_the_same(project: Path) -> None:
    CliRunner().invoke(app, ["learn", "-a", "helena", "-t", "Größe 日本", "-o", "success", "-s", "S"])
    ended = alma("retrieve", "Größe 日本", "-a", "helena", folder=project, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert ended.returncode == 0, ended.stderr
    assert "O1" in ended.stdout


@pytest.mark.slow
def test_the_console_script_is_the_same_command(project: Path) -> None:
    script = Path(sys.executable).with_name("alma")
    if not script.exists():
        pytest.skip("this environment runs from the source tree")
    ended = subprocess.run([script, "stats", "--json"], cwd=project, capture_output=True, text=True)
    assert json.loads(ended.stdout)["project_id"] == "shop"


@pytest.mark.slow
def test_an_interrupt_while_modules_are_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    ended = alma("stats", folder=tmp_path, PYTHONPATH=str(tmp_path))

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
