"""A test that hangs fails by its name, and those after it run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

HANGS = """
import subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor

import pytest

LOCK = threading.Lock()

def test_of_a_lock_that_another_holds():
    LOCK.acquire()
    with LOCK:
        pass

def test_of_a_clean_up_that_waits_for_the_same():
    go_on = threading.Event()
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(go_on.wait).result()
    finally:
        go_on.set()

def test_of_a_process_that_does_not_end():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])

@pytest.fixture
def ready():
    threading.Event().wait()

def test_of_a_fixture(ready):
    pass

def test_that_is_well():
    pass
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no alarm on this system: pytest ends the process")
def test_whatever_a_test_waits_for_it_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests/conftest.py")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS / 'support'}\naddopts = --import-mode=importlib\n")
    (tmp_path / "tests/test_it.py").write_text(HANGS)
    options = ("-p", "no:cacheprovider", "--limit=0.5", "-v")
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "3 failed, 1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("took longer than 0.5 s") >= 4
    assert "test_of_a_lock_that_another_holds" in done.stdout
    assert "Current thread" in done.stdout, "the stacks are missing"
