"""The command line of ALMA."""

import gc
import sys
from contextlib import suppress
from importlib.util import find_spec

__version__ = "0.1.0"

_YOUNG_OBJECTS = 50_000
"""New objects after which the collector looks through the young ones. A command imports 100,000, none of them garbage: `alma stats` and `alma list`
take a twentieth less processor time (29 November 2026, ten new processes of each in turns)."""

_INTERRUPTED = 130
"""Exit code of programs that Ctrl-C ends."""


def main() -> None:
    """Runs the command line and leaves with its exit code.

    `alma hook` and `alma --version` skip all that the other commands need: coding agents wait for a hook after every call.
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
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        from alma import __version__ as core_version

        with suppress(OSError):  # the command line below reports a full disk and a closed pipe
            print(f"alma {core_version}", flush=True)
            return
    gc.set_threshold(_YOUNG_OBJECTS)
    from alma_cli.app import run

    run()
