"""A lock that a thread left neither by its end nor by an error is free again: an interrupt may end a block between two instructions."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from alma.errors import StorageError
from alma.vectors.arrays import SharedLock


def interrupted_inside(lock: SharedLock, *, is_writing: bool) -> None:
    lock.enter(sys._getframe(), is_writing=is_writing)


def interrupted_while_it_waits(lock: SharedLock) -> None:
    lock._waiting_writers[threading.get_ident()] = sys._getframe()


@pytest.mark.parametrize("is_writing", [True, False])
@pytest.mark.parametrize("other_writes", [True, False])
def test_other_threads_enter_after_a_block_was_interrupted(is_writing: bool, other_writes: bool) -> None:
    lock = SharedLock()
    interrupted_inside(lock, is_writing=is_writing)
    with ThreadPoolExecutor(1) as others:
        others.submit(interrupted_inside, lock, is_writing=other_writes).result(30)


@pytest.mark.parametrize("other_writes", [True, False])
def test_other_threads_enter_after_a_thread_was_interrupted_that_waited_to_write(other_writes: bool) -> None:
    lock = SharedLock()
    interrupted_while_it_waits(lock)
    with ThreadPoolExecutor(1) as others:
        others.submit(interrupted_inside, lock, is_writing=other_writes).result(30)


def test_a_thread_that_was_interrupted_enters_again() -> None:
    lock = SharedLock()
    for interrupted in (interrupted_while_it_waits, lambda lock: interrupted_inside(lock, is_writing=True)):
        interrupted(lock)
        with lock.writing():
            pass
        interrupted(lock)
        with lock.reading():
            pass


@pytest.mark.parametrize("outer", ["reading", "writing"])
@pytest.mark.parametrize("inner", ["reading", "writing"])
def test_a_thread_that_is_inside_does_not_enter_again(outer: str, inner: str) -> None:
    lock = SharedLock()
    with getattr(lock, outer)(), pytest.raises(StorageError, match="in the middle of a search"), getattr(lock, inner)():
        pass
