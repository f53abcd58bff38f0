"""Every test has a key of its own, and makes none in the home of the user who runs it. The benchmarks, which are no installed package, can be
imported. No learner outlives the test whose hook started it."""

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA

sys.path.insert(0, str(Path(__file__).parents[2]))

_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux: what a hook that has ended leaves behind becomes a child of the tests' process, which can wait for it."""
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project in it."""
    (tmp_path / ".alma").mkdir()
    (tmp_path / ".alma" / "config.yaml").write_text("alma: {project_id: shop, embedding_provider: hash}\n")
    ALMA.from_config(tmp_path / ".alma" / "config.yaml").close()
    return tmp_path


@pytest.fixture(autouse=True)
def _no_learner_is_left() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 120
    while left := [pid for pid in _children() if os.waitpid(pid, os.WNOHANG) == (0, 0)]:
        assert time.monotonic() < deadline, f"the learners {left} do not end"
        time.sleep(0.02)


def _children() -> list[int]:
    """Returns the learners that this process has adopted, and what has ended of others. Only Linux names them."""
    listed = [word for file in Path("/proc/self/task").glob("*/children") for word in file.read_text().split()]
    commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in listed}
    return [pid for pid, command in commands.items() if not command or b"alma_agents\0learn" in command]
