"""Threads beside a call."""

import threading
from typing import NoReturn

import pytest

from alma.errors import StorageError
from alma.memory.pool import Pool


def test_a_system_that_gives_no_thread_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("test", closed="it was closed")

    def no_memory(_: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_memory)
        with pytest.raises(StorageError, match="no thread could be started: can't start new thread"):
            pool.submit(int)

    assert pool.submit(int, "7").result() == 7
    pool.close()
    with pytest.raises(StorageError, match="it was closed"):
        pool.submit(int)
