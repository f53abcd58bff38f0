"""Opens a store in a process that is killed in the middle of it."""

import signal
import subprocess
import sys
from pathlib import Path

_OPENING = """
import os, signal, sys
from alma import ALMA
from alma.storage.sqlite.session import Connection
left = [int(sys.argv[2])]
made = Connection.__init__
def counting(self, *given, **named):
    made(self, *given, **named)
    self.set_trace_callback(count)
def count(statement):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Connection.__init__ = counting
ALMA.open(sys.argv[1], project_id="shop").close()
"""


def kill_while_opening(folder: Path, *, statements: int) -> None:
    """Opens the project `shop` of a folder and kills the process at its n-th SQL statement."""
    killed = subprocess.run([sys.executable, "-c", _OPENING, str(folder), str(statements)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
