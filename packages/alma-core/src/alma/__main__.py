"""`python -m alma`: the command line, if `alma-cli` is installed."""

import sys
from importlib.util import find_spec

from alma.errors import install_line


def main() -> None:
    """Runs the command line. Without it, says what to install."""
    if find_spec("alma_cli") is None:
        print(f"alma: the command line is not installed: {install_line('cli')}", file=sys.stderr)
        raise SystemExit(2)
    from alma_cli import main as run

    run()


if __name__ == "__main__":
    main()
