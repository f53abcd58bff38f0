"""Every test has a key of its own, and makes none in the home of the user who runs it. The benchmarks, which are no installed package, can be
imported."""

import sys
from pathlib import Path

import pytest

from alma import ALMA

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project in it."""
    (tmp_path / ".alma").mkdir()
    (tmp_path / ".alma" / "config.yaml").write_text("alma: {project_id: shop, embedding_provider: hash}\n")
    ALMA.from_config(tmp_path / ".alma" / "config.yaml").close()
    return tmp_path
