"""`python -m alma.mcp`: the MCP server, if `alma-mcp` is installed. `alma.mcp.create_server` and the like are names of that package."""

import sys

from alma.errors import MissingDependencyError
from alma.extensions import extension, forwarding

_WHAT = "the MCP server is"


def main() -> None:
    """Runs the server. Without the package, says what to install."""
    try:
        server = extension("alma_mcp", "mcp", _WHAT)
    except MissingDependencyError as error:
        print(f"alma: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    server.main()


__getattr__ = forwarding("alma.mcp", "alma_mcp", extra="mcp", what=_WHAT)


if __name__ == "__main__":
    main()
