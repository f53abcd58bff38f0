"""How long calls wait for a store that another process holds, and that a caller can shorten that."""

import asyncio
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConfigurationError, StorageError, ValidationError, lock_timeout
from facade import OpenStore
from other_process import OtherProcess
from statements import traced

TASK = "Deploy auth service"
SOON = 5.0
"""Far below the half minute that a store waits by itself, far above what a busy machine takes."""


@pytest.fixture
def store(open_store: OpenStore, tmp_path: Path) -> ALMA:
    alma = open_store()
    alma.learn("dev", TASK, "success", "blue-green")
    return alma


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Another process holds the write lock."""
    setup = f"import sqlite3\nc = sqlite3.connect({str(folder / 'alma.db')!r}, isolation_level=None)\n"
    with OtherProcess(setup) as other:
        assert "Cursor" in other.ask("c.execute('BEGIN IMMEDIATE')")
        try:
            yield
        finally:
            other.ask("c.execute('ROLLBACK')")


@contextmanager
def refused_soon(seconds: str = "0.1", *, at_least: float = 0.0) -> Iterator[None]:
    started = time.monotonic()
    with pytest.raises(StorageError, match=rf"alma\.db was locked by another process for more than {seconds} s; try again"):
        yield
    assert at_least <= time.monotonic() - started < SOON


CALLS: dict[str, Callable[[ALMA], object]] = {
    "learn": lambda alma: alma.learn("dev", TASK, "failure", "all at once"),
    "episode": lambda alma: alma.episode("dev", TASK),
    "record_usage": lambda alma: alma.record_usage(alma.retrieve(TASK, "dev").ids, [], agent="dev"),
    "settle": lambda alma: alma.settle("e1", "success"),
    "compact": lambda alma: alma.compact(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_that_writes_waits_no_longer_than_asked(store: ALMA, tmp_path: Path, call: Callable[[ALMA], object]) -> None:
    store.episode("dev", TASK, episode_id="e1").end(strategy="blue-green")
    before = store.content_hash()
    with locked(tmp_path / "store"), lock_timeout(0.1), refused_soon(at_least=0.09):
        call(store)
    assert store.content_hash() == before
    call(store)


@pytest.mark.parametrize("deferred", [False, True])
def test_steps_and_endings_of_an_episode_wait_no_longer_than_asked(store: ALMA, tmp_path: Path, deferred: bool) -> None:
    episode = store.episode("dev", TASK, deferred=deferred)
    with locked(tmp_path / "store"), lock_timeout(0.1):
        with refused_soon():
            episode.step("kubectl apply", error="ImagePullBackOff")
        with refused_soon():
            episode.succeed("blue-green")
    assert episode.is_open
    assert episode.succeed("blue-green").outcome == "success"


def test_retrieving_needs_no_lock(store: ALMA, tmp_path: Path) -> None:
    with locked(tmp_path / "store"), lock_timeout(0):
        assert len(store.retrieve(TASK, "dev")) == 1


def test_0_does_not_wait_at_all(store: ALMA, tmp_path: Path) -> None:
    with locked(tmp_path / "store"), lock_timeout(0), refused_soon("0"):
        store.learn("dev", TASK, "success")


def test_of_nested_blocks_the_smaller_number_holds_and_the_outer_one_again_afterwards(store: ALMA, tmp_path: Path) -> None:
    with locked(tmp_path / "store"), lock_timeout(0.2):
        with lock_timeout(0.1), refused_soon("0.1"):
            store.learn("dev", TASK, "success")
        with lock_timeout(20), refused_soon("0.2"):
            store.learn("dev", TASK, "success")
        with refused_soon("0.2"):
            store.learn("dev", TASK, "success")


def test_after_the_block_the_store_waits_as_usual(store: ALMA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.storage.sqlite.connections.BUSY_SECONDS", 0.3)
    with lock_timeout(0.1):
        store.learn("dev", TASK, "success")
    with locked(tmp_path / "store"), refused_soon("0.3", at_least=0.28):
        store.learn("dev", TASK, "success")


def test_a_thread_waits_no_longer_than_asked_for_another_thread_of_its_process(store: ALMA) -> None:
    with store.storage.project("shop").write(actor="dev", operation="learn", at=1):
        errors: list[StorageError] = []

        def learn() -> None:
            with lock_timeout(0.1):
                try:
                    store.learn("dev", TASK, "success")
                except StorageError as error:
                    errors.append(error)

        thread = threading.Thread(target=learn)
        thread.start()
        thread.join(SOON)
        assert [str(error).endswith("for more than 0.1 s; try again") for error in errors] == [True]


def test_another_thread_is_not_hurried(store: ALMA, tmp_path: Path) -> None:
    """It waits until the lock is free, however long the thread that hurries."""
    learned = threading.Event()

    def learn() -> None:
        store.learn("dev", TASK, "success", "canary")
        learned.set()

    with lock_timeout(0):
        with locked(tmp_path / "store"):
            thread = threading.Thread(target=learn)
            thread.start()
            assert not learned.wait(0.3)
        assert learned.wait(SOON)
        thread.join()


@pytest.mark.parametrize("seconds", [-0.1, 3600.1, math.nan, math.inf, "1", None, True])
def test_a_time_that_is_none_is_refused(seconds: object) -> None:
    with pytest.raises(ValidationError, match="from 0 to 3600"), lock_timeout(seconds):  # type: ignore[arg-type]
        pass


def test_a_store_is_opened_with_a_time_of_its_own(open_store: OpenStore, tmp_path: Path) -> None:
    hurried, usual = open_store(lock_timeout=0.1), open_store()
    usual.learn("dev", TASK, "success")
    with locked(tmp_path / "store"):
        with refused_soon("0.1"):
            hurried.learn("dev", TASK, "success")
        with lock_timeout(0.2), refused_soon("0.2", at_least=0.19):
            hurried.for_project("other").learn("dev", TASK, "success")
        with lock_timeout(0), refused_soon("0"):
            usual.learn("dev", TASK, "success")


@pytest.mark.parametrize("value", [-1, 3601, "soon", math.nan])
def test_a_store_is_not_opened_with_a_time_that_is_none(open_store: OpenStore, tmp_path: Path, value: object) -> None:
    with pytest.raises(ConfigurationError, match="lock_timeout"):
        open_store(lock_timeout=value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("form", ["lock_timeout: {}", "sqlite:\n  lock_timeout: {}"])
def test_a_configuration_sets_the_time_too(tmp_path: Path, form: str) -> None:
    file = tmp_path / "alma.yaml"
    file.write_text("project_id: shop\nembedding_provider: hash\nstorage_dir: ./store\n" + form.format("0.1"))
    with ALMA.from_config(file) as alma:
        alma.learn("dev", TASK, "success")
        with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with refused_soon("0.1"):
                alma.learn("dev", TASK, "success")
    file.write_text(file.read_text().replace("0.1", "-1"))
    with pytest.raises(ConfigurationError, match="lock_timeout: should be greater than or equal to 0"):
        ALMA.from_config(file)


def test_calls_that_ask_for_nothing_run_no_statement_more(open_store: OpenStore) -> None:
    with traced() as trace:
        alma = open_store()
        alma.learn("dev", TASK, "success")
        ran = [*trace.of(lambda: alma.learn("dev", TASK, "success")), *trace.of(lambda: alma.retrieve(TASK, "dev"))]
        assert not any("busy_timeout" in statement.sql for statement in ran)
        with lock_timeout(1):
            ran = trace.of(lambda: alma.learn("dev", TASK, "success"))
        assert any("busy_timeout" in statement.sql for statement in ran)


def test_the_calls_of_a_task_in_asyncio_wait_no_longer_than_it_asks(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
            await alma.learn("dev", TASK, "success")
            with locked(tmp_path / "store"):
                hurried, patient = asyncio.create_task(in_a_hurry(alma)), asyncio.create_task(alma.learn("dev", TASK, "success"))
                await hurried
                assert not patient.done()
            await patient

    async def in_a_hurry(alma: AsyncALMA) -> None:
        with lock_timeout(0.1), refused_soon():
            await alma.learn("dev", TASK, "success")

    asyncio.run(work())
