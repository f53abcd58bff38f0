"""A large scope is searched by the calling thread and one beside it: which of them does what shows nowhere."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from alma import ALMA, DomainKnowledge, Heuristic
from alma.memory.opening import open_store
from alma.memory.pool import WORKERS, Job
from alma.memory.room import OpenStore, SearchSizes
from facade import ManualClock, StoredIn

pytestmark = pytest.mark.slow  # whichever test comes first fills the store

SMALL = 2_000
"""Facts of each agent: those of two are more than are compared whole."""
QUESTIONS = ("How is part3 of the pump mended?", "valve7", "What about lamps?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("works")


def opened(folder: Path, stored_in: StoredIn, *, beside_above: int) -> OpenStore:
    """The store, for which a scope is large above that size."""
    return open_store(
        folder,
        db_name="alma.db",
        embedder="hash",
        embedding_dim=32,
        agents={"bob": {"share_with": ["ann"]}},
        scoring=None,
        clock=ManualClock(),
        sizes=SearchSizes(beside_above=beside_above),
        **stored_in(folder),
    )


@pytest.fixture(scope="module")
def store(folder: Path, stored_in: StoredIn) -> OpenStore:
    return opened(folder, stored_in, beside_above=2 * SMALL)


@pytest.fixture(scope="module")
def works(store: OpenStore) -> Iterator[ALMA]:
    """Two large partitions that one agent reads, and small ones; large is less than this scope."""
    with ALMA(store.room("works")) as alma:
        for agent, thing in (("ann", "pump"), ("bob", "valve")):
            alma.add_many(
                DomainKnowledge(agent=agent, domain=thing, fact=f"{thing}{number} is part{number % 50} of the {thing}")
                for number in range(SMALL + 100)
            )
            alma.add_many(
                Heuristic(agent=agent, condition=f"{thing}{number} leaks", strategy=f"way {number}") for number in range(20)
            )
        yield alma


@contextmanager
def busy(store: OpenStore) -> Iterator[Callable[[], bool]]:
    """All threads of the store have to wait, at most ten seconds; what is given says whether one still does."""
    over = threading.Event()
    begun = threading.Barrier(WORKERS + 1)

    left = WORKERS

    def wait() -> None:
        nonlocal left
        begun.wait(10)
        over.wait(10)
        left -= 1

    waiting = [Job(wait) for _ in range(WORKERS)]
    for each in waiting:
        store.beside.submit(each.run)
    begun.wait(10)
    try:
        yield lambda: left == WORKERS
    finally:
        over.set()
        for each in waiting:
            each.result()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_retrieval_does_not_wait_for_threads_that_are_busy_and_finds_the_same(
    works: ALMA, store: OpenStore, question: str
) -> None:
    usual = works.retrieve(question, "ann", top_k=20)
    with busy(store) as still_busy:
        found = works.retrieve(question, "ann", top_k=20)
        assert still_busy()
    assert found.recalled == usual.recalled
    assert len(found.recalled) > 20


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_scope_finds_the_same_however_large_it_is_taken_to_be(
    works: ALMA, folder: Path, stored_in: StoredIn, question: str
) -> None:
    by_two = works.retrieve(question, "ann", top_k=20)
    with ALMA(opened(folder, stored_in, beside_above=4 * SMALL).room("works")) as other:
        by_one = other.retrieve(question, "ann", top_k=20)
    assert by_one.recalled == by_two.recalled
    assert len(by_one.recalled) > 20


def test_a_reader_of_a_former_moment_counts_what_there_was_and_others_what_there_is(alma: ALMA) -> None:
    def learn() -> None:
        alma.learn("dev", "Deploy the shop", True, "canary")

    def trials() -> list[int]:
        return [row.trials for row in alma.strategies("Deploy the shop", "dev")]

    learn()
    assert trials() == [1]
    with ThreadPoolExecutor(1) as others, alma.storage.project("shop").moment():
        assert trials() == [1]
        others.submit(learn).result()
        assert others.submit(trials).result() == [2]
        assert trials() == [1]
        assert others.submit(trials).result() == [2]
    assert trials() == [2]
