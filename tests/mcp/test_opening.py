"""A memory is opened beside the server, once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import StorageError
from alma_access.serving.opening import Opening

pytestmark = pytest.mark.any_version


def test_a_memory_is_opened_once_for_all_who_wait(config: Path) -> None:
    opened = []

    def open_it() -> ALMA:
        opened.append(ALMA.from_config(config))
        return opened[-1]

    opening = Opening(open_it)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: opening.alma(), range(8)))
    assert found == [opened[0]] * 8
    assert len(opened) == 1
    opening.close()


def test_nothing_is_opened_before_it_is_needed(config: Path) -> None:
    opening = Opening(lambda: ALMA.from_config(config))
    assert not opening.is_open
    opening.close()
    assert not opening.is_open


def test_after_a_failure_the_next_call_tries_again(config: Path) -> None:
    failures = [StorageError("locked")]

    def open_it() -> ALMA:
        if failures:
            raise failures.pop()
        return ALMA.from_config(config)

    opening = Opening(open_it)
    with pytest.raises(StorageError, match="locked"):
        opening.alma()
    assert not opening.is_open
    assert opening.alma().project_id == "shop"
    assert opening.is_open
    opening.close()


def test_closing_closes_the_memory(config: Path) -> None:
    opening = Opening(lambda: ALMA.from_config(config))
    alma = opening.alma()
    opening.close()
    with pytest.raises(StorageError, match="closed"):
        alma.get_stats()
