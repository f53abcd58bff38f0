"""Asking before something is taken away."""

import sys

import typer

from alma.cli.exits import Exit
from alma.cli.output import console

YesOption = typer.Option("--yes", "-y", help="Do it without asking.")


def confirm(question: str, *, yes: bool) -> None:
    """Returns if it may be done; ends the command with the code for a refusal otherwise, also where nobody can be asked."""
    if yes:
        return
    if not somebody_is_there():
        console(stderr=True).print("Nothing was done: there is nobody to ask. Add --yes to do it.", soft_wrap=True)
        raise typer.Exit(Exit.REFUSED)
    if not typer.confirm(question, err=True):
        console(stderr=True).print("Nothing was done.")
        raise typer.Exit(Exit.REFUSED)


def somebody_is_there() -> bool:
    """Whether a person is at the other end of standard input."""
    return sys.stdin.isatty()
