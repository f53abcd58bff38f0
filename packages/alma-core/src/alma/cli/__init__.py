"""The command line. Needs the extra `cli`; without it, `main` says what to install."""

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich")


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f'alma: the command line needs {" and ".join(missing)}: pip install "alma-core[cli]"', file=sys.stderr)
        raise SystemExit(2)
    from alma.cli.app import run

    run()
