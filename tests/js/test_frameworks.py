"""Entries of the TypeScript client for agent frameworks: tests and examples, with the real frameworks and scripted models."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api_processes import Server, serving

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "packages" / "alma-memory-js"
FRAMEWORKS = CLIENT / "test" / "frameworks"
MODULES = FRAMEWORKS / "node_modules"
NODE, NODE_22 = "node", str(MODULES / "node" / "bin" / "node")
"""Node.js of the machine, and the one that Mastra and version 7 of the Vercel AI SDK need."""

SUITES = [
    ("ai", NODE),
    ("ai", NODE_22),
    ("langchain", NODE),
    ("mastra", NODE_22),
    ("openai-agents", NODE),
    ("python", NODE_22),
]
EXAMPLES = sorted(path.name for path in (ROOT / "examples" / "typescript").glob("*.mts"))


def run(*command: str, folder: Path = CLIENT, **variables: str) -> str:
    """Runs a program of Node.js and returns what it prints."""
    program = shutil.which(command[0])
    assert program, f"{command[0]} is not installed"
    environment = {**os.environ, "ALMA_PYTHON": sys.executable, "NO_COLOR": "1", "MASTRA_TELEMETRY_DISABLED": "1", **variables}
    done = subprocess.run([program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def _installed(run_suite: Callable[[str], None]) -> None:  # which builds the client
    """Installs the frameworks beside the client, unless those of the lock are installed."""
    installed, lock = MODULES / ".package-lock.json", FRAMEWORKS / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-progress", "--loglevel=error", folder=FRAMEWORKS)
    link = MODULES / "alma-memory"
    if not link.is_symlink():
        link.symlink_to(CLIENT, target_is_directory=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.mark.parametrize(
    ("suite", "node"), SUITES, ids=[f"{suite}-{'node' if node == NODE else 'node22'}" for suite, node in SUITES]
)
def test_the_suites_of_the_entries_pass(suite: str, node: str) -> None:
    run(node, "--test", "--test-reporter=spec", f"test/frameworks/{suite}.test.mjs")


def test_the_entries_and_the_code_of_the_guide_fit_the_types_of_the_frameworks(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "guides" / "typescript.md").read_text("utf-8")
    blocks = re.findall(r"^```ts\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    files = {f"guide{number}.mts": block for number, block in enumerate(blocks)}
    (tmp_path / "node_modules").symlink_to(MODULES, target_is_directory=True)
    for name, content in {**files, "types.mts": (FRAMEWORKS / "types.ts").read_text("utf-8")}.items():
        (tmp_path / name).write_text(content, "utf-8")
    options = {"extends": str(FRAMEWORKS / "tsconfig.json"), "files": [*files, "types.mts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(options), "utf-8")

    run(NODE, "node_modules/typescript/bin/tsc", "-p", str(tmp_path))

    assert len(blocks) == 4


def test_the_entries_import_no_framework() -> None:
    built = [path.read_text("utf-8") for path in (CLIENT / "dist" / "esm").glob("*.js")]

    imported = [name for text in built for name in re.findall(r"""(?:from|import|require)\s*\(?\s*["']([^"']+)""", text)]

    assert imported
    assert [name for name in imported if not name.startswith("./")] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run_and_show_the_third_run_what_failed(example: str, server: Server, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES, target_is_directory=True)
    shutil.copy(ROOT / "examples" / "typescript" / example, tmp_path)

    said = run(NODE_22, example, folder=tmp_path, ALMA_URL=server.address, ALMA_TOKEN=server.token)

    assert [line for line in said.splitlines() if "deploy(way" in line and "502 bad gateway" in line]
    assert said.splitlines()[-1] == "It is live."


def test_the_lock_of_the_frameworks_names_no_registry() -> None:
    assert '"resolved"' not in (FRAMEWORKS / "package-lock.json").read_text("utf-8")
