"""A store that nothing refers to any more lets go of its files, as a file or a connection of Python does."""

import gc
import os
import threading
from pathlib import Path

import pytest

from alma import ALMA

DESCRIPTORS = Path("/proc/self/fd")

pytestmark = pytest.mark.skipif(not DESCRIPTORS.exists(), reason="the system does not list open files")


def _open_below(folder: Path) -> list[str]:
    gc.collect()
    links = (DESCRIPTORS / name for name in os.listdir(DESCRIPTORS))
    return [target for link in links if os.path.lexists(link) if (target := os.readlink(link)).startswith(str(folder))]


def _use(folder: Path, **options: object) -> ALMA:
    alma = ALMA.open(folder, project_id="p", embedding_provider="hash", **options)  # type: ignore[arg-type]
    alma.learn("dev", "Paint the fence", "success")
    assert alma.retrieve("Paint the fence", "dev").outcomes
    return alma


@pytest.mark.parametrize("options", [{}, {"storage": "file"}, {"encryption_key": b"k" * 32}])
def test_a_dropped_store_has_no_open_file(tmp_path: Path, options: dict[str, object]) -> None:
    for number in range(3):
        _use(tmp_path / str(number), **options)
    assert _open_below(tmp_path) == []
    with _use(tmp_path / "0", **options) as alma:
        assert len(alma.retrieve("Paint the fence", "dev").outcomes) == 1


def test_a_store_that_another_object_or_an_episode_refers_to_stays_open(tmp_path: Path) -> None:
    other = _use(tmp_path).for_project("other")
    gc.collect()
    other.learn("dev", "Paint the gate", "success")
    episode = other.episode(agent="dev", task="Paint the door")
    del other
    gc.collect()
    episode.step("brush", ok=True)
    episode.succeed()
    assert _open_below(tmp_path)
    del episode
    assert _open_below(tmp_path) == []


def test_a_store_that_is_dropped_leaves_another_on_the_same_file_alone(tmp_path: Path) -> None:
    with _use(tmp_path) as kept:
        for _ in range(3):
            _use(tmp_path)
        gc.collect()
        assert kept.learn("dev", "Paint the fence", "failure").id
    assert _open_below(tmp_path) == []


def test_stores_that_threads_drop_while_others_open_lose_nothing(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(5):
            _use(tmp_path)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _open_below(tmp_path) == []
    with ALMA.open(tmp_path, project_id="p") as alma:
        assert alma.stats().by_kind["outcome"] == 15
        assert alma.verify().ok
