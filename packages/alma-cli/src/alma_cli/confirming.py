"""Asks for confirmation before something is removed."""

import sys

import typer

from alma_cli.exits import Exit
from alma_cli.output import console

YesOption = typer.Option("--yes", "-y", help="Do it without asking.")


def confirm(question: str, *, yes: bool) -> None:
    """Returns if the user confirms. Otherwise, also without a terminal, ends the command with the exit code of a refusal."""
    if yes:
        return
    if not has_terminal():
        console(stderr=True).print("Nothing was done: no terminal to ask at. Add --yes to do it.", soft_wrap=True)
        raise typer.Exit(Exit.REFUSED)
    if not typer.confirm(question, err=True):
        console(stderr=True).print("Nothing was done.")
        raise typer.Exit(Exit.REFUSED)


def has_terminal() -> bool:
    """Returns True when standard input is a terminal."""
    return sys.stdin.isatty()
