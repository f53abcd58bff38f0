"""A fork waits for calls in other threads and for the work of ALMA's own, and a child holds nothing of them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on this system")

SETUP = """
import os, signal, sys, threading
from pathlib import Path
from alma import folders, forking
from alma.forking import delaying_forks

place = Path(sys.argv[1])

def forked(work=lambda: None):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def beside(work):
    began = threading.Event()
    thread = threading.Thread(target=lambda: work(began), daemon=True)
    thread.start()
    began.wait()
    return thread

def endless(began):
    with delaying_forks():
        began.set()
        threading.Event().wait()
"""


def _run(script: str, place: Path) -> str:
    done = subprocess.run([sys.executable, "-c", SETUP + script, str(place)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_fork_waits_until_the_work_of_another_thread_has_ended(tmp_path: Path) -> None:
    script = """
done = []
def work(began):
    with delaying_forks():
        began.set()
        while not forking._DELAYS._forking:
            threading.Event().wait(0)  # lets the other thread run
        done.append("work")
beside(work)
print(forked(lambda: print(done, end=" ", flush=True)), done)
"""
    assert _run(script, tmp_path).strip() == "['work'] 0 ['work']"


def test_a_fork_does_not_wait_for_ever(tmp_path: Path) -> None:
    script = """
forking.LONGEST_DELAY = 0.05
beside(endless)
print(forked())
"""
    assert _run(script, tmp_path).strip() == "0"


def test_a_thread_may_fork_in_the_middle_of_its_own_work_and_its_child_ends_it_too(tmp_path: Path) -> None:
    script = """
forking.LONGEST_DELAY = 1000.0
def more():
    with delaying_forks():
        pass
with delaying_forks(), delaying_forks():
    print(forked(more), end=" ")
print(forked(more), forking._DELAYS._working)
"""
    assert _run(script, tmp_path).strip() == "0 0 {}"


def test_a_fork_does_not_wait_for_work_that_an_interrupt_ended_before_its_end_was_noted(tmp_path: Path) -> None:
    script = """
forking.LONGEST_DELAY = 1000.0
def noted_and_ended():
    forking._DELAYS.begin(sys._getframe())
def work(began):
    noted_and_ended()
    with delaying_forks():
        pass
    noted_and_ended()
    began.set()
    threading.Event().wait()
beside(work)
print(forked())
"""
    assert _run(script, tmp_path).strip() == "0"


def test_work_that_follows_such_work_is_noted(tmp_path: Path) -> None:
    script = """
forking._DELAYS.begin((lambda: sys._getframe())())
with delaying_forks():
    print(len(forking._DELAYS._working), end=" ")
print(len(forking._DELAYS._working))
"""
    assert _run(script, tmp_path).strip() == "1 0"


def test_a_child_does_not_wait_for_threads_that_only_its_parent_has(tmp_path: Path) -> None:
    script = """
forking.LONGEST_DELAY = 0.05
beside(endless)
def again():
    forking.LONGEST_DELAY = 1000.0
    if forked():
        os._exit(2)
print(forked(again))
"""
    assert _run(script, tmp_path).strip() == "0"


def test_work_that_begins_during_a_fork_waits_and_is_done_afterwards(tmp_path: Path) -> None:
    script = """
made, goal = [0] * 4, [sys.maxsize] * 4
def work(number):
    def go(began):
        while made[number] < goal[number]:
            with delaying_forks():
                made[number] += 1
            began.set()
    return go
threads = [beside(work(number)) for number in range(4)]
codes = {forked() for _ in range(50)}
goal[:] = [count + 1 for count in made]
for thread in threads:
    thread.join(20)
print(codes, [thread.is_alive() for thread in threads], forking._DELAYS._working)
"""
    assert _run(script, tmp_path).strip() == "{0} [False, False, False, False] {}"


def test_a_child_keeps_no_lock_of_a_folder_that_its_parent_swept(tmp_path: Path) -> None:
    script = """
stop = False
def sweep(began):
    while not stop:
        (place / ".left.tmp").touch()
        folders.sweep(place, ".*.tmp")
        began.set()
thread = beside(sweep)
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


@pytest.mark.slow
def test_forks_beside_the_making_of_codes_end_and_leave_the_codes_as_they_should_be(tmp_path: Path) -> None:
    script = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from alma.protocols import VectorChanges
from alma.vectors.index import ProjectIndex

DIMENSION, COUNT = 256, 1_500
chance, threads = np.random.default_rng(0), ThreadPoolExecutor(1)
vectors = chance.standard_normal((COUNT, DIMENSION)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1)[:, np.newaxis]
numbers, zeros = np.arange(COUNT), np.zeros(COUNT, dtype=np.int64)
changes = VectorChanges(1, numbers, numbers, zeros, np.zeros(COUNT, dtype=bool), numbers, vectors.astype(np.float16), zeros[:0])

def codes(run):
    index = ProjectIndex(DIMENSION, codes_above=8, wide_up_to=8, run=run)
    index.apply(changes)
    index.search(vectors[0], partitions=[0], limit=5)
    return index

def packed(index):
    return bytes(index.save(0, numbers[:1])[1]["codes"])

whole = packed(codes(lambda call: call()))
print({packed(index) == whole for _ in range(10) if (index := codes(threads.submit)) and [forked() for _ in range(5)] == [0] * 5})
"""
    assert _run(script, tmp_path).strip() == "{True}"


@pytest.mark.slow
def test_calls_of_other_threads_go_on_after_forks(tmp_path: Path) -> None:
    script = """
from alma import ALMA

alma = ALMA.open(place, project_id="shop", embedding_provider="hash", embedding_dim=384)
alma.learn_many({"agent": "dev", "task": f"Task {number} of many", "outcome": "success"} for number in range(1_000))
made, goal = [0, 0], [sys.maxsize] * 2

def work(number):
    def go(began):
        began.set()
        while made[number] < goal[number]:
            alma.retrieve(f"Task {made[number]}", "dev")
            made[number] += 1
    return go

threads = [beside(work(number)) for number in range(2)]
codes = {forked() for _ in range(200)}
goal[:] = [count + 1 for count in made]
for thread in threads:
    thread.join(20)
print(codes, [thread.is_alive() for thread in threads], flush=True)
os._exit(0)
"""
    assert _run(script, tmp_path).strip() == "{0} [False, False]"
