"""The page of coding agents runs as written."""

from pathlib import Path

from documents import documents, run_blocks


def test_the_blocks_of_the_page_run_as_written(tmp_path: Path) -> None:
    (page,) = documents("agents")
    assert "1 0" in run_blocks(page, tmp_path)
