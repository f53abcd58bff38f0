"""Which documents and examples there are, and in whose environment each runs.

A page or an example that is named after an adapter (`docs/guides/llamaindex.md`, `examples/llamaindex_agent.py`) runs in that adapter's
environment, every other one in the environment of the core.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import run_document

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = (
    "langchain",
    "llamaindex",
    "crewai",
    "mcp",
    "server",
    "agents",
    "events",
    "telemetry",
    "harness_pydantic_ai",
    "harness_openai_agents",
    "harness_smolagents",
)
_PAGES = {
    "coding-agents": "agents",
    "graph_backends": "graph/backends",
    "webhooks": "events",
    "pydantic-ai": "harness_pydantic_ai",
    "openai-agents": "harness_openai_agents",
    "smolagents": "harness_smolagents",
}
RUNNER = Path(run_document.__file__)


def documents(adapter: str | None = None) -> list[Path]:
    """The README and the pages of the documentation, or those of one adapter."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    return [page for page in found if _adapter_of(page) == adapter]


def examples(adapter: str | None = None) -> list[Path]:
    """The examples of the core, or those of one adapter."""
    return [example for example in sorted((ROOT / "examples").glob("*.py")) if _adapter_of(example) == adapter]


def run_example(example: Path, folder: Path) -> str:
    """Runs a script in a folder; fails with what it printed."""
    return _run([example], folder)


def run_blocks(document: Path, folder: Path) -> str:
    """Runs the blocks of a document in a folder, beside its files in `examples/data`; fails with what they printed."""
    if (files := ROOT / "examples" / "data" / document.stem).is_dir():
        shutil.copytree(files, folder, dirs_exist_ok=True)
    return _run([RUNNER, document], folder)


def name_of(path: Path) -> str:
    """A path as a test shows it."""
    return str(path.relative_to(ROOT))


def _adapter_of(path: Path) -> str | None:
    return _PAGES.get(path.stem) or next((name for name in ADAPTERS if path.stem.split("_")[0] == name), None)


def _run(arguments: list[Path], folder: Path) -> str:
    """Runs Python with this environment's commands first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
