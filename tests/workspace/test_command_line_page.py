"""`docs/reference/cli.md` lists every command and every exit code."""

from pathlib import Path

from typer.main import get_command

from alma_cli.app import app
from alma_cli.exits import Exit

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")


def test_the_page_lists_every_command() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]

    assert [name for name in commands if f"`alma {name}`" not in PAGE] == []


def test_the_page_lists_every_exit_code() -> None:
    assert [code for code in Exit if f"| {int(code)} |" not in PAGE] == []
