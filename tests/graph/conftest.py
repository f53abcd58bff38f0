"""A project with the embedder of hashed words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        yield alma


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[ALMA]:
    """A project whose memories are read for entities when the graph is asked."""
    path = tmp_path / "config.yaml"
    path.write_text(f"project_id: shop\nembedding_provider: hash\nstorage_dir: {tmp_path}\ngraph:\n  enabled: true\n", "utf-8")
    with ALMA.from_config(path) as alma:
        yield alma
