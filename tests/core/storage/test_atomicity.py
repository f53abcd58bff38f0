"""A write lands whole or not at all, whatever stops it, and what was acknowledged stays."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from pytest_mock import MockerFixture

from alma import ALMA
from alma.errors import ConflictError, MemoryNotFoundError, StorageError
from alma.storage.relational.session import OpenSeal, RowName
from alma.storage.sqlite.store import SQLStorage
from alma.types import DomainKnowledge
from alma.types.memories import passages_of
from processes import answer, finished, start, worker, workers
from stores import TASK, Driver, new_storage, open_alma, rows

TABLES = ("project", "partition", "memory", "passage", "vector", "usage", "record", "journal")
Act = Callable[[ALMA], object]


@pytest.fixture
def driver(mocker: MockerFixture) -> Driver:
    """The driver of every connection made from now on."""
    made = Driver()
    mocker.patch("sqlite3.connect", made.connect)
    return made


@pytest.fixture
def alma(driver: Driver, tmp_path: Path) -> Iterator[ALMA]:
    with open_alma(tmp_path, dimension=16) as opened:
        yield opened


def stored(alma: ALMA) -> dict[str, list[tuple[object, ...]]]:
    """All rows, as another connection sees them."""
    assert isinstance(alma.storage, SQLStorage)
    path = alma.storage.path
    everything = {table: rows(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}
    texts = rows(path, "SELECT name FROM sqlite_master WHERE name GLOB 'words_*'")
    return everything | {name: rows(path, f"SELECT term, doc FROM {name}") for (name,) in texts}


def learn(alma: ALMA) -> object:
    return alma.learn("helena", TASK, "success", "Empty fields first", error_message="none")


def learn_many(alma: ALMA) -> object:
    return alma.learn_many([{"agent": f"agent{n}", "task": f"{TASK} {n}", "outcome": "failure"} for n in range(3)])


def learn_as_somebody_new(alma: ALMA) -> object:
    return alma.learn("victor", TASK, "success", "Empty fields first")


def add_knowledge(alma: ALMA) -> object:
    return alma.add_domain_knowledge("helena", "auth", "Tokens live a day. " * 90)


def use(alma: ALMA) -> object:
    ids = [memory.id for memory in alma.list_memories()]
    return alma.record_usage(ids, ids[:1], agent="helena")


def stop_at(number: int, fault: BaseException) -> Callable[[str], None]:
    """Raises at the write statement of that number, counting from the one that begins the transaction; rolling back goes well."""
    left = number
    begun = False

    def count_down(statement: str) -> None:
        nonlocal left, begun
        begun = begun or statement == "BEGIN IMMEDIATE"
        if begun and statement != "ROLLBACK":
            if not left:
                raise fault
            left -= 1

    return count_down


FAULTS = [sqlite3.OperationalError("disk I/O error"), sqlite3.OperationalError("database or disk is full"), KeyboardInterrupt()]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize(
    ("before", "act", "least"),
    [
        ([], learn, 10),
        ([], learn_many, 18),
        ([learn], learn_as_somebody_new, 8),
        ([learn], add_knowledge, 8),
        ([learn, learn], use, 7),
    ],
    ids=["the first of a project", "many", "of a new owner", "in passages", "usage"],
)
def test_a_write_that_fails_at_any_statement_stores_nothing_and_the_next_one_works(
    alma: ALMA, driver: Driver, before: list[Act], act: Act, least: int, fault: BaseException
) -> None:
    for earlier in before:
        earlier(alma)
    found = stored(alma)

    number = 0
    while fails(alma, driver, act, stop_at(number, fault)):
        assert stored(alma) == found
        number += 1
    assert number >= least
    assert stored(alma) != found
    assert len(stored(alma)["journal"]) == len(before) + 1
    assert learn_as_somebody_new(alma)
    assert [row[2] for row in stored(alma)["journal"]] == list(range(1, len(before) + 3))
    assert alma.verify().problems == ()


def fails(alma: ALMA, driver: Driver, act: Act, fault: Callable[[str], None]) -> bool:
    try:
        with driver.doing(fault):
            act(alma)
    except (StorageError, KeyboardInterrupt):
        return True
    return False


def test_what_was_learned_after_a_failure_is_found_under_its_own_owner(alma: ALMA, driver: Driver) -> None:
    learn(alma)
    with pytest.raises(StorageError), driver.doing(stop_at(7, FAULTS[0])):
        alma.learn("somebody", "Another task entirely", "success", "Way")
    alma.learn("victor", "A third task of another kind", "success", "Way")

    assert [memory.agent for memory in alma.retrieve("A third task of another kind", "victor")] == ["victor"]
    assert list(alma.retrieve("Another task entirely", "somebody")) == []
    assert set(alma.get_stats().by_agent) == {"helena", "victor"}


class BreakingSeal(OpenSeal):
    """A seal that breaks when it has sealed so many times."""

    def __init__(self) -> None:
        self.left = -1

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        if not self.left:
            raise RuntimeError("the key is gone")
        self.left -= 1
        return super().seal(data, place=place, row=row)


def test_a_seal_that_breaks_at_any_place_stores_nothing(tmp_path: Path) -> None:
    seal = BreakingSeal()
    fact = DomainKnowledge(agent="helena", domain="auth", fact="Tokens live a day.")
    with closing(new_storage(tmp_path, seal=seal)) as storage:
        project = storage.project("shop")
        for number in range(6):  # body, speaker, text, keywords, vector, payload
            seal.left = number
            with pytest.raises(RuntimeError, match="the key is gone"), project.write(actor="", operation="add", at=1) as write:
                write.add(fact, passages_of(fact), {fact.fact: bytes(32)})
            assert storage.project_names() == []
        seal.left = -1
        with project.write(actor="", operation="add", at=1) as write:
            write.add(fact, passages_of(fact), {fact.fact: bytes(32)})
        assert project.head() == 1
        assert storage.verify().problems == ()


def test_a_conflict_in_the_middle_of_many_stores_none_of_them(alma: ALMA) -> None:
    first = DomainKnowledge(agent="helena", domain="auth", fact="Tokens live a day.")
    alma.add_many([first])
    found = stored(alma)

    with pytest.raises(ConflictError, match=f"{first.id}.*nothing was stored"):
        alma.add_many(
            [DomainKnowledge(agent="new", domain="d", fact="New."), first, DomainKnowledge(agent="n", domain="d", fact="N.")]
        )
    assert stored(alma) == found


def test_a_write_that_changes_nothing_leaves_no_record(tmp_path: Path) -> None:
    with closing(new_storage(tmp_path)) as storage:
        with storage.project("shop").write(actor="", operation="nothing", at=1):
            pass
        assert storage.project("shop").head() == 0
        assert storage.verify().problems == ()


def test_usage_of_a_memory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with closing(new_storage(tmp_path)) as storage:
        with pytest.raises(MemoryNotFoundError, match="'shop' has no memory 'm1'"):
            count_usage(storage, "m1")
        assert storage.project_names() == []


def count_usage(storage: SQLStorage, memory_id: str) -> None:
    with storage.project("shop").write(actor="", operation="use", at=1) as write:
        write.count_usage({memory_id: {"used": 1}})


def test_a_small_record_is_compared_before_it_is_set(tmp_path: Path) -> None:
    with closing(new_storage(tmp_path)) as storage:
        put(storage, {"step": 1}, version=0)
        put(storage, {"step": 2}, version=1)

        with pytest.raises(ConflictError, match="session 's1' was changed meanwhile: it is at version 2, not 1"):
            put(storage, {"step": 3}, version=1)
        assert storage.project("shop").record("session", ["s1"])["s1"] == (2, {"step": 2})
        assert storage.project("shop").record("session", ["s2"])["s2"] == (0, {})


def put(storage: SQLStorage, body: dict[str, object], *, version: int) -> None:
    with storage.project("shop").write(actor="", operation="save", at=1) as write:
        write.put_record("session", "s1", body, version=version)


def test_a_small_record_is_compared_before_it_is_deleted(tmp_path: Path) -> None:
    with closing(new_storage(tmp_path)) as storage:
        put(storage, {"step": 1}, version=0)

        for body, version in (({"step": 1}, 2), ({"step": 2}, 1), ({"step": 1}, 0)):
            with pytest.raises(ConflictError, match="session 's1' was changed meanwhile"):
                drop(storage, body, version=version)
        assert storage.project("shop").record("session", ["s1"])["s1"] == (1, {"step": 1})

        drop(storage, {"step": 1}, version=1)
        assert storage.project("shop").record("session", ["s1"])["s1"] == (0, {})
        with pytest.raises(ConflictError, match="session 's1' was changed meanwhile"):
            drop(storage, {"step": 1}, version=1)
        assert storage.verify().problems == ()


def drop(storage: SQLStorage, body: dict[str, object], *, version: int) -> None:
    with storage.project("shop").write(actor="", operation="drop", at=2) as write:
        write.drop_record("session", "s1", body, version=version)


@pytest.mark.slow
def test_a_process_killed_before_any_statement_of_a_write_leaves_all_or_nothing(tmp_path: Path) -> None:
    open_alma(tmp_path).close()
    with worker("crash", tmp_path, 40) as process:
        told = finished(process)

    with open_alma(tmp_path) as alma:
        kept = {memory_id for (memory_id,) in rows(tmp_path / "alma.db", "SELECT id FROM memory")}
        assert set(told) == kept
        assert 0 < len(told) < 40
        assert alma.verify().problems == ()
        assert alma.verify().records == len(told)


@pytest.mark.slow
def test_whatever_was_acknowledged_before_a_kill_is_there(tmp_path: Path) -> None:
    chance = Random(5)
    told: list[str] = []
    for _ in range(6):
        told += killed_after(chance.randrange(1, 60), tmp_path)
        with open_alma(tmp_path) as alma:
            assert [memory_id for memory_id in told if alma.get(memory_id).id != memory_id] == []
            assert alma.verify().problems == ()
            assert alma.verify().records - len(told) in range(7)  # at most one a round landed and was not told

    assert len(told) > 60


def killed_after(count: int, folder: Path) -> list[str]:
    """What a process told that was killed when it had told so many, or a few more."""
    with workers(("learn", folder, "shop", "helena", 1000)) as (process,):
        start(process)
        told = [answer(process) for _ in range(count)]
        process.kill()
        assert process.stdout is not None
        rest = process.stdout.read()  # not by `communicate`, which leaves out lines that were read ahead
    return told + [line for line in rest.splitlines() if len(line) == 36]
