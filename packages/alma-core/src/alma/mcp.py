"""`python -m alma.mcp`: the MCP server, if `alma-mcp` is installed. `alma.mcp.create_server` and the like are names of that package."""

import sys
from importlib.util import find_spec
from typing import Any

from alma.errors import MissingDependencyError

MISSING = 'the MCP server is not installed: pip install "alma-core[mcp]"'


def main() -> None:
    """Runs the server. Without the package, says what to install."""
    if find_spec("alma_mcp") is None:
        print(f"alma: {MISSING}", file=sys.stderr)
        raise SystemExit(2)
    from alma_mcp import main as run

    run()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'alma.mcp' has no attribute {name!r}")
    if find_spec("alma_mcp") is None:
        raise MissingDependencyError(MISSING)
    import alma_mcp

    try:
        return getattr(alma_mcp, name)
    except AttributeError:
        raise AttributeError(f"module 'alma.mcp' has no attribute {name!r}") from None


if __name__ == "__main__":
    main()
