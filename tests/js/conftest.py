"""The TypeScript client, built once, and its suites in processes of Node.js."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "packages" / "alma-memory-js"


@pytest.fixture(scope="session")
def run_suite() -> Callable[[str], None]:
    """Runs a suite of the client by its name. Its servers are of this environment."""
    assert (CLIENT / "node_modules").is_dir(), "run `npm ci` in packages/alma-memory-js"
    _run("npm", "run", "build")
    return lambda name: _run("node", "--test", "--test-reporter=spec", f"test/{name}.test.mjs")


def _run(program: str, *arguments: str) -> None:
    found = shutil.which(program)
    assert found, f"{program} is not installed"
    environment = {**os.environ, "ALMA_PYTHON": sys.executable, "NO_COLOR": "1"}
    process = subprocess.Popen(
        [found, *arguments],
        cwd=CLIENT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        said = process.communicate()[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its servers, too
            process.wait()
    assert process.returncode == 0, said
