"""`alma help`."""

from typing import Annotated

import typer


def help_(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="The command.", show_default="all commands")] = None,
) -> None:
    """Show the options of a command, with examples, or all commands.

    \b
    Examples:
      alma help
      alma help retrieve
    """
    shown = context.find_root()
    if command is not None:
        name, found, _ = shown.command.resolve_command(shown, [command])  # type: ignore[attr-defined] # a group has it
        shown = typer.Context(found, info_name=name, parent=shown, **found.context_settings)
    typer.echo(shown.get_help())
