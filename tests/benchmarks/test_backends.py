"""The measurement of searches for vectors measures what it says."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import backends

from alma.testing import make_vector_changes


class Forgetful:
    """A search that names every second of the nearest memories."""

    def search(self, query: object, *, partitions: list[int], limit: int) -> np.ndarray:
        assert (partitions, limit) == ([7], 50)
        return np.arange(0, limit, 2)


def test_recall_is_the_share_of_the_nearest_that_a_search_names() -> None:
    angles = np.linspace(0, 1.5, 80)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float16)
    project = SimpleNamespace(vectors_in=lambda rows: [make_vector_changes(1, vectors, dimension=2)])
    share, times = backends._recall(project, Forgetful(), np.array([[1.0, 0.0]], dtype=np.float32), 7)
    assert share == 0.5
    assert len(times) == 1


def test_a_twentieth_is_of_the_second_agent() -> None:
    agents = [backends.agent_of(number) for number in range(100)]
    assert (agents.count("helena"), agents.count("victor")) == (95, 5)


def test_each_run_has_a_schema_of_its_own_unless_one_is_named(tmp_path: Path) -> None:
    one, other = (backends.place_of("postgres", "postgres://h/d", tmp_path)["storage_options"] for _ in range(2))
    assert one["schema"] != other["schema"]
    assert "schema" not in backends.place_of("postgres", "postgres://h/d?schema=mine", tmp_path)["storage_options"]


def test_an_unknown_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="unknown store 'qdrnt'"):
        backends.main(["--data", str(tmp_path / "none"), "--stores", "qdrnt"])
