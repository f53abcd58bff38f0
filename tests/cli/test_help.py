"""What `alma` says about itself, and how it fails."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

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
    install_line,
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
    "token",
)


def test_help_lists_every_command_and_every_exit_code(alma) -> None:
    told = alma("--help").out

    assert all(f"\n  {command} " in told for command in COMMANDS)
    assert all(f"  {int(code)}  " in told for code in Exit)


def test_help_has_the_commands_in_the_groups_of_the_page(alma) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")
    told = re.split(r"\n(?=\S.*:\n)", alma("--help").out)
    shown = {part.split(":")[0]: re.findall(r"^  ([a-z-]+) ", part, re.MULTILINE) for part in told}
    written = {part.split("**")[0]: re.findall(r"`alma ([a-z-]+)`", part) for part in page.split("| **")[1:]}

    assert {group: set(commands) for group, commands in written.items()} == {group: set(shown[group]) for group in written}


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_help_says_of_each_command_a_whole_sentence_in_a_terminal_of_any_width(alma, columns: int) -> None:
    told = " ".join(alma("--help", columns=columns).out.split())

    assert "..." not in told.replace("[ARGS]...", "")
    assert "Write everything that the project holds to a file of JSON lines." in told


@pytest.mark.parametrize("command", ["retrieve", "import", "serve", "ingest", "help"])
def test_help_of_a_command_is_what_its_option_shows(alma, command: str) -> None:
    assert alma("help", command).out == alma(command, "--help").out


def test_help_is_that_of_the_whole_program_without_a_command(alma) -> None:
    assert alma("help").out == alma("--help").out


def test_help_of_an_unknown_command_is_wrong_usage_and_names_the_nearest(alma) -> None:
    assert "Did you mean 'retrieve'" in alma("help", "retreive", code=2).err


@pytest.mark.parametrize(
    ("words", "shown"),
    [("alma re", "retrieve"), ("alma ing", "ingest-traces"), ("alma inst", "install"), ("alma learn --out", "--outcome")],
)
def test_a_shell_completes_commands_and_options(words: str, shown: str) -> None:
    asked = {"_ALMA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    ended = subprocess.run(
        [sys.executable, "-c", "from alma_cli import main; main()"], capture_output=True, text=True, env={**os.environ, **asked}
    )

    assert shown in ended.stdout.splitlines()


def test_words_that_are_left_over_are_said_to_need_quotes(alma) -> None:
    assert "put a text of several words in quotes" in alma("retrieve", "Test", "the", "form", "-a", "helena", code=2).err
    assert "quotes" in alma("retrieve", "Test", "it", "-a", "helena", "--json", code=2).json["error"]["message"]


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
    assert ended.stderr == f"alma: the command line is not installed: {install_line('cli')}\n"
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
