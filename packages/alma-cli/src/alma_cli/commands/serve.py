"""`alma serve`."""

from importlib.util import find_spec
from typing import Annotated

import typer

from alma.errors import ConfigurationError, MissingDependencyError, install_line

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings with which all options, `--help` too, reach the server, which describes them."""


def serve(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="mcp: for one client of the Model Context Protocol, on standard input.")] = "",
) -> None:
    """Serve this memory to agents and programs: the HTTP API and the MCP server, on one port. `alma serve --help` has the options, and
    `alma serve mcp --help` those of the MCP server alone.

    \b
    Examples:
      alma serve
      alma serve --only api --port 8080
      alma serve mcp
      alma serve mcp --agent helena --profile all
      alma serve mcp --http --port 8765
    """
    if what == "mcp":
        _serve_mcp(context.args)
    elif what and not what.startswith("-"):
        raise ConfigurationError(f"there is no server {what!r}; `alma serve` serves all, `alma serve mcp` MCP alone")
    elif find_spec("alma_server") is not None:
        from alma_server.command import main

        main([what, *context.args] if what else context.args)
    elif what in ("--help", "-h"):
        typer.echo(context.get_help())
    else:
        raise MissingDependencyError(
            f"`alma serve mcp` serves MCP alone; the HTTP API is not installed: {install_line('server')}"
        )


def _serve_mcp(arguments: list[str]) -> None:
    if find_spec("alma_mcp") is None:
        raise MissingDependencyError(f"the MCP server is not installed: {install_line('mcp')}")
    from alma_mcp import main

    main(arguments, program="alma serve mcp")
