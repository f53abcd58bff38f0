"""The page and the example of this adapter run as written, in an environment that has the adapter."""

from pathlib import Path

import pytest

from documents import ROOT, documents, examples, name_of, run_blocks, run_example
from run_document import blocks


@pytest.mark.parametrize("document", documents("langchain"), ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    printed = run_blocks(document, tmp_path)
    shown = [block.text for block in blocks(document.read_text(encoding="utf-8")) if block.language == "text"]
    assert shown
    assert all(text in printed for text in shown)


def test_the_blocks_of_the_readme_run_as_written(tmp_path: Path) -> None:
    run_blocks(ROOT / "packages" / "alma-langchain" / "README.md", tmp_path)


@pytest.mark.parametrize("example", examples("langchain"), ids=name_of)
def test_the_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path)
