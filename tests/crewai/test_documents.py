"""The page, the README and the example of this adapter run as written, in an environment that has the adapter."""

from pathlib import Path

import pytest

from documents import ROOT, documents, examples, name_of, run_blocks, run_example

pytestmark = pytest.mark.any_version


@pytest.mark.parametrize("document", [*documents("crewai"), ROOT / "packages" / "alma-crewai" / "README.md"], ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)


@pytest.mark.parametrize("example", examples("crewai"), ids=name_of)
def test_the_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path)
