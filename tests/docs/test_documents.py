"""What the documents show is what happens: every block and every example runs as written."""

import re
from pathlib import Path

import pytest

from documents import ADAPTERS, ROOT, documents, examples, name_of, run_blocks, run_example
from run_document import blocks

README = ROOT / "README.md"


@pytest.mark.slow
@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_the_blocks_of_a_document_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(), ids=name_of)
def test_an_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path)


@pytest.mark.slow
def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    printed = run_blocks(README, tmp_path)
    shown = re.findall(r"^print\(.+\n# (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    assert [line for line in (*shown, "S1") if line not in printed] == []  # `S1` is the note that its answer cites


def test_the_readme_shows_code_that_runs() -> None:
    assert any(block.runs for block in blocks(README.read_text(encoding="utf-8")))


def test_each_adapter_with_a_page_runs_it_in_its_own_suite() -> None:
    assert [name for name in ADAPTERS if documents(name) and not (ROOT / "tests" / name / "test_documents.py").exists()] == []
