"""The page runs as written, in the environment of what it shows."""

from pathlib import Path

import pytest

from documents import documents, name_of, run_blocks


@pytest.mark.parametrize("document", documents("harness_smolagents"), ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)
