"""The side database: one engine for a store, safe to make at once, and leases that one owner at a time holds."""

import multiprocessing
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from alma import ALMA
from alma_events.service_db import Lease, service_engine


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as opened:
        yield opened


def test_the_side_database_stands_beside_the_store_and_only_its_owner_may_read_it(alma: ALMA, tmp_path: Path) -> None:
    service_engine(alma)
    for name in ("service.db", "service.db-wal"):
        assert stat.S_IMODE((tmp_path / "store" / name).stat().st_mode) == 0o600


def test_projects_of_a_store_share_an_engine_and_stores_of_a_folder_do_not(alma: ALMA, tmp_path: Path) -> None:
    assert service_engine(alma) is service_engine(alma.for_project("other"))
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", db_name="x.db") as second:
        assert service_engine(second) is not service_engine(alma)
    assert (tmp_path / "store" / "x.service.db").exists()


def test_threads_that_ask_at_once_get_one_engine(alma: ALMA) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({id(engine) for engine in pool.map(lambda _: service_engine(alma), range(32))}) == 1


def test_a_lease_belongs_to_one_owner_until_it_is_released(alma: ALMA) -> None:
    first, second = (Lease(service_engine(alma), "work") for _ in range(2))
    assert first.acquire()
    assert first.acquire()
    assert first.seconds_left > 20
    assert not second.acquire()
    assert second.seconds_left == 0
    assert not second.renew()
    second.release()
    assert first.renew()
    first.release()
    assert second.acquire()
    assert not first.renew()


def test_leases_of_other_names_do_not_meet(alma: ALMA) -> None:
    assert Lease(service_engine(alma), "one").acquire()
    assert Lease(service_engine(alma), "two").acquire()


def test_a_lease_whose_time_has_ended_goes_to_another_owner_and_is_not_renewed(alma: ALMA) -> None:
    first, second = Lease(service_engine(alma), "work", seconds=0.01), Lease(service_engine(alma), "work")
    assert first.acquire()
    time.sleep(0.05)
    assert not first.renew()
    assert second.acquire()
    assert not first.acquire()


def test_of_threads_that_want_a_lease_at_once_one_gets_it(alma: ALMA) -> None:
    leases = [Lease(service_engine(alma), "work") for _ in range(16)]
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(Lease.acquire, leases)) == 1


def _acquires_in_child(lease: Lease, answers: "multiprocessing.Queue[bool]") -> None:
    answers.put(lease.acquire())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_does_not_hold_the_lease_of_its_parent(alma: ALMA) -> None:
    lease = Lease(service_engine(alma), "work")
    assert lease.acquire()
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[bool] = context.Queue()
    child = context.Process(target=_acquires_in_child, args=(lease, answers))
    child.start()
    assert answers.get(timeout=30) is False
    child.join()
    assert lease.renew()


def test_an_engine_is_made_anew_where_its_file_was_deleted(alma: ALMA, tmp_path: Path) -> None:
    assert Lease(service_engine(alma), "work").acquire()
    for file in (tmp_path / "store").glob("service.db*"):
        file.unlink()
    with service_engine(alma).begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM lease")).scalar() == 0
