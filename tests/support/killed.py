"""Opens a store, or changes its key, in a process that is killed in the middle of it."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_OPENING = """
import os, signal, sys
from alma import ALMA
from alma.storage.sqlite.connections import Connection
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


_CHANGING = """
import json, os, shutil, signal, sys
from pathlib import Path
from alma.encryption import decrypt_store, encrypt_store, rotate_key
from alma_encryption import resealing
from alma_encryption import cipher, rows
from alma.storage.sqlite.connections import Connection
store, place, call, keys, points = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]), int(sys.argv[5])
calls = {"encrypt": encrypt_store, "decrypt": decrypt_store, "rotate": rotate_key}
given = [bytes.fromhex(key) for key in keys]
SYSTEM = {"open", "os.rename", "os.remove", "os.truncate", "os.listdir", "os.scandir", "sqlite3.connect"}

def change(folder, last):
    steps = 0
    def step(*_):
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
    made, sync = Connection.__init__, os.fsync
    def traced(self, *given, **named):
        made(self, *given, **named)
        self.set_trace_callback(step)
    Connection.__init__ = traced
    os.fsync = lambda number: (step(), sync(number), step())[1]
    sys.addaudithook(lambda event, _: step() if event in SYSTEM else None)
    calls[call](folder, *given)
    return steps

def forked(folder, last):
    shutil.copytree(store, folder)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(change(folder, last)).encode())
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    os.close(writing)
    return os.waitstatus_to_exitcode(status), os.read(reading, 20)

ended, total = forked(place / "whole", 0)
assert ended == 0
total = int(total)
late = points // 2  # the swap is near the end
chosen = sorted({*(1 + number * total // (points - late) for number in range(points - late)), *range(total - late + 1, total + 1)})
for last in chosen:
    ended, _ = forked(place / str(last), last)
    assert ended == -signal.SIGKILL, (last, total, ended)
print(json.dumps([str(place / str(last)) for last in chosen]))
"""


def kill_while_changing_key(store: Path, place: Path, call: str, keys: Sequence[bytes], *, points: int) -> list[Path]:
    """Makes copies of a store, and in each has its key changed by a process that is killed at another point: at an SQL statement, or where a file is
    opened, synced, renamed or deleted."""
    given = [str(store), str(place), call, json.dumps([key.hex() for key in keys]), str(points)]
    done = subprocess.run([sys.executable, "-c", _CHANGING, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Path(folder) for folder in json.loads(done.stdout)]
