"""`alma serve`."""

from importlib.util import find_spec
from typing import Annotated

import typer

from alma.errors import ConfigurationError, MissingDependencyError, install_line

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings with which all options, `--help` too, reach the server, which describes them."""


def serve(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="mcp: for clients of the Model Context Protocol.")] = "--help",
) -> None:
    """Serve this memory to other programs. `alma serve mcp --help` has the options.

    \b
    Examples:
      alma serve mcp
      alma serve mcp --agent helena --profile all
      alma serve mcp --http --port 8765
    """
    if what in ("--help", "-h"):
        typer.echo(context.get_help())
        return
    if what != "mcp":
        raise ConfigurationError(f"there is no server {what!r}; `alma serve mcp` is what there is")
    if find_spec("alma_mcp") is None:
        raise MissingDependencyError(f"the MCP server is not installed: {install_line('mcp')}")
    from alma_mcp import main

    main(context.args, program="alma serve mcp")
