"""The command line of ALMA."""

import sys
from importlib.util import find_spec

__version__ = "0.1.0"

_INTERRUPTED = 130
"""Exit code of programs that Ctrl-C ends."""


def main() -> None:
    """Runs the command line and leaves with its exit code.

    `alma hook` skips all that the other commands need, because coding agents wait for it after every call.
    """
    try:
        _run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None  # while modules are imported; a command that runs ends by itself


def _run() -> None:
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and find_spec("alma_agents") is not None:
        from alma_agents.hook import main as hook

        hook(sys.argv[2:])
        return
    from alma_cli.app import run

    run()
