"""The page on graph databases runs as written, in an environment that has one."""

from pathlib import Path

import pytest

from documents import documents, name_of, run_blocks

pytest.importorskip("ladybug", reason="Ladybug is not installed")


@pytest.mark.parametrize("document", documents("graph/backends"), ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)
