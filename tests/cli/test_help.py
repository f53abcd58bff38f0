"""What `alma` says about itself, and how it fails."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from alma.errors import (
    AlmaError,
    ConfigurationError,
    ConflictError,
    CorruptStoreError,
    EmbedderMismatchError,
    EmbeddingError,
    MemoryNotFoundError,
    MissingDependencyError,
    ScopeViolationError,
    StorageError,
    ValidationError,
)
from alma_cli.app import app
from alma_cli.exits import Exit, exit_code

COMMANDS = (
    "init",
    "demo",
    "learn",
    "retrieve",
    "explain",
    "strategies",
    "check",
    "assess",
    "review",
    "stats",
    "report",
    "verify",
    "doctor",
    "history",
    "undo",
    "forget",
    "quarantine",
    "redact",
    "maintain",
    "compact",
    "keygen",
    "encrypt",
    "decrypt",
    "rotate-key",
    "list",
    "show",
    "add",
    "export",
    "import",
    "ingest-traces",
    "sessions",
    "work",
    "workflow",
    "wakeup",
)


def test_help_lists_every_command_and_every_exit_code(alma) -> None:
    told = alma("--help").out

    assert all(f"\n  {command} " in told for command in COMMANDS)
    assert all(f"  {int(code)}  " in told for code in Exit)


def test_no_command_shows_the_help(alma) -> None:
    assert "Usage: alma" in alma(code=2).err + alma(code=2).out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_with_examples_and_gives_json(alma, command: str) -> None:
    told = alma(command, "--help").out

    assert "Examples:\n" in told
    assert f"  alma {command}" in told
    assert "--json" in told


def test_the_version_is_that_of_the_installed_package(alma) -> None:
    assert alma("--version").out == f"alma {version('alma-core')}\n"


def test_an_unknown_command_is_wrong_usage(alma) -> None:
    assert "lern" in alma("lern", code=2).err


def test_a_missing_option_is_wrong_usage(alma) -> None:
    assert "--agent" in alma("retrieve", "a task", code=2).err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError, Exit.USAGE),
        (MissingDependencyError, Exit.USAGE),
        (ValidationError, Exit.USAGE),
        (EmbedderMismatchError, Exit.USAGE),
        (StorageError, Exit.STORAGE),
        (CorruptStoreError, Exit.STORAGE),
        (ScopeViolationError, Exit.REFUSED),
        (MemoryNotFoundError, Exit.REFUSED),
        (ConflictError, Exit.REFUSED),
        (EmbeddingError, Exit.MODEL),
        (AlmaError, Exit.PROBLEM),
    ],
)
def test_every_error_has_its_exit_code(error: type[AlmaError], code: Exit) -> None:
    assert exit_code(error("told")) is code


def test_an_error_is_one_line_on_standard_error(alma) -> None:
    ended = alma("stats", code=2)

    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("alma: ")
    assert "`alma init`" in ended.err


def test_debug_shows_where_an_error_came_from(folder) -> None:
    ended = CliRunner().invoke(app, ["--debug", "stats"])
    assert isinstance(ended.exception, ConfigurationError)


def test_without_the_command_line_python_m_alma_says_what_to_install() -> None:
    script = "import sys; sys.modules['alma_cli'] = None; from alma.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert ended.returncode == 2
    assert ended.stderr == 'alma: the command line is not installed: pip install "alma-core[cli]"\n'
    assert ended.stdout == ""


def test_help_loads_neither_the_core_nor_the_model() -> None:
    script = (
        "import sys; sys.argv = ['alma', '--help']\n"
        "from alma_cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'numpy', 'sqlmodel', 'faiss', 'onnxruntime', 'yaml', 'rich', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
