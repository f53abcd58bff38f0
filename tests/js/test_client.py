"""The TypeScript client: its own tests, each in a process of Node.js against servers of this environment, and what its package states."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "packages" / "alma-memory-js"
SUITES = sorted(path.name for path in (CLIENT / "test").glob("*.test.mjs"))


def run(*command: str) -> None:
    """Runs a program of Node.js in the folder of the client. The variable `ALMA_PYTHON` is the Python that has the server."""
    program = shutil.which(command[0])
    assert program, f"{command[0]} is not installed"
    environment = {**os.environ, "ALMA_PYTHON": sys.executable, "NO_COLOR": "1"}
    done = subprocess.run([program, *command[1:]], cwd=CLIENT, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    assert (CLIENT / "node_modules").is_dir(), "run `npm ci` in packages/alma-memory-js"
    run("npm", "run", "build")


@pytest.mark.parametrize("suite", SUITES)
def test_the_suites_of_the_client_pass(suite: str) -> None:
    run("node", "--test", "--test-reporter=spec", f"test/{suite}")


def test_the_client_has_the_version_of_the_packages() -> None:
    package, lock = (json.loads((CLIENT / name).read_text("utf-8")) for name in ("package.json", "package-lock.json"))
    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {version("alma-core")}


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
