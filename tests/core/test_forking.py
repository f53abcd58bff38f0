"""A forked child resets what it inherited, and nothing of the parent waits for a fork."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on this system")

SETUP = """
import os, signal, sys, threading
from pathlib import Path
from alma import folders, forking

place = Path(sys.argv[1])
"""


def _run(script: str, place: Path) -> str:
    done = subprocess.run([sys.executable, "-c", SETUP + script, str(place)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_registered_objects_are_reset_in_the_child_and_stay_as_they_are_in_the_parent(tmp_path: Path) -> None:
    script = """
class Counted:
    count = 0
    def renew_in_child(self):
        self.count += 1
kept, gone = forking.renewed_in_children(Counted()), forking.renewed_in_children(Counted())
del gone
if not (child := os.fork()):
    os._exit(kept.count)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), kept.count)
"""
    assert _run(script, tmp_path).strip() == "1 0"


def test_a_child_keeps_no_lock_of_a_folder_that_its_parent_swept(tmp_path: Path) -> None:
    script = """
stop = False
def sweep(began):
    while not stop:
        (place / ".left.tmp").touch()
        folders.sweep(place, ".*.tmp")
        began.set()
began = threading.Event()
thread = threading.Thread(target=sweep, args=(began,))
thread.start()
began.wait()
children = []
for _ in range(100):
    child = os.fork()
    if not child:
        signal.pause()
    children.append(child)
stop = True
thread.join()
with folders.making_in(place):
    print("locked")
for child in children:
    os.kill(child, 9)
"""
    assert _run(script, tmp_path).strip() == "locked"
