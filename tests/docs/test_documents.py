"""What the documents show is what happens: every block and every example runs as written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import run_document
from run_document import blocks

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(run_document.__file__)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run_python(arguments: list[Path], *, folder: Path) -> str:
    """Runs a script in `folder` with this environment's commands first on the path; fails with what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_blocks_of_a_document_run_as_written(document: Path, tmp_path: Path) -> None:
    run_python([RUNNER, document], folder=tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_python([example], folder=tmp_path)


def test_the_readme_shows_code_that_runs() -> None:
    assert any(block.runs for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")))
