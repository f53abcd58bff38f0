"""A rebuild makes anew what follows from a whole journal, for every process, and leaves alone and names what does not."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import EmbeddingError
from alma.testing import MockEmbedder
from damages import TASK, Whole, open_whole
from facade import ManualClock
from stores import execute, open_alma, rows


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole.made_in(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def path(made: Whole, tmp_path: Path) -> Path:
    path = tmp_path / "alma.db"
    path.write_bytes(made.path.read_bytes())
    return path


@pytest.fixture
def shop(path: Path, made: Whole) -> Iterator[ALMA]:
    with open_whole(path.parent, ManualClock(made.now)) as alma:
        yield alma


REPAIRED = {
    "rows that differ": ["UPDATE memory SET confidence = 0.123"],
    "rows that are gone": ["DELETE FROM memory WHERE row % 2", "DELETE FROM passage WHERE row % 3 = 0"],
    "all rows": [f"DELETE FROM {table}" for table in ("memory", "passage", "usage", "record", "partition")],
    "lost partitions": ["DELETE FROM partition"],
    "partitions of others": ["UPDATE partition SET project = 9 + row WHERE row % 2"],
    "lists": ["DELETE FROM touched", "DELETE FROM removed"],
    "vectors that are gone": ["DELETE FROM vector"],
    "vectors that were changed": ["UPDATE vector SET vector = zeroblob(length(vector))"],
    "the words of the full text": ["DELETE FROM text_1_data"],
    "the settings of the full text": ["UPDATE text_1_config SET v = 5"],
    "a table behind the full text": ["DROP TABLE text_1_idx"],
    "tables and indexes": ["DROP TABLE usage", "DROP TABLE touched", "DROP INDEX passage_seq"],
    "an index that is another": ["DROP INDEX passage_seq", "CREATE INDEX passage_seq ON passage (text)"],
    "row numbers": ["UPDATE passage SET row = 99 WHERE row = 5", "UPDATE sqlite_sequence SET seq = 3"],
    "the end of the journal": ["UPDATE project SET head_seq = 7"],
    "the table of the full text": ["DROP TABLE text_1"],
    "row numbers that are too large": ["UPDATE memory SET row = 1 << 62 WHERE row = (SELECT max(row) FROM memory)"],
}


@pytest.mark.parametrize("what", REPAIRED)
def test_what_follows_from_the_journal_is_made_anew(shop: ALMA, path: Path, made: Whole, what: str) -> None:
    execute(path, *REPAIRED[what])
    found = shop.verify()
    report = shop.verify(rebuild=True)

    assert not found.ok
    assert (report.ok, report.problems, report.rebuilt) == (True, (), found.problems)
    assert made.is_same(shop)
    assert shop.learn("helena", f"{TASK} again", "success", "Empty fields first", task_type="testing").id
    assert shop.verify().ok


def test_a_sound_store_is_left_as_it_is(shop: ALMA, path: Path) -> None:
    before = rows(path, "SELECT * FROM journal"), rows(path, "SELECT * FROM passage")
    report = shop.verify(rebuild=True)

    assert (report.ok, report.rebuilt) == (True, ())
    assert (rows(path, "SELECT * FROM journal"), rows(path, "SELECT * FROM passage")) == before


def test_the_journal_says_that_a_rebuild_took_place(shop: ALMA, path: Path, made: Whole) -> None:
    execute(path, "UPDATE memory SET confidence = 0.123 WHERE row = 1")
    before = shop.get_stats().journal_records
    shop.verify(rebuild=True)

    newest = shop.overview(verify=False).journal[0]
    assert (newest.seq, newest.operation) == (before + 1, "rebuild")
    assert [entry.operation for entry in shop.history(made.ids[0])][-1] == "rebuild"
    assert shop.history(made.ids[0])[-1].changed == {}


def test_a_rebuild_stands_in_the_way_of_no_undo(shop: ALMA, path: Path) -> None:
    before, seq = shop.content_hash(), shop.get_stats().journal_records
    learned = shop.learn("victor", "Print the page twice", "success")
    execute(path, "UPDATE memory SET confidence = 0.123 WHERE row = 1")
    shop.verify(rebuild=True)

    assert learned.id in shop.undo(seq).removed
    assert shop.content_hash() == before
    assert shop.verify().ok


def test_another_that_has_the_store_open_takes_in_what_was_made_anew(shop: ALMA, path: Path, made: Whole) -> None:
    with open_whole(path.parent, ManualClock(made.now)) as other:
        assert made.is_same(other)
        execute(path, "DELETE FROM memory WHERE row % 2", "DELETE FROM partition WHERE row % 2", "DELETE FROM text_1_data")
        assert shop.verify(rebuild=True).ok
        assert made.is_same(other)
        assert other.learn("helena", f"{TASK} again", "failure", "Wait with sleep", task_type="testing").id
        assert shop.verify().ok
    assert shop.get_stats().total == len(made.ids) + 1


OTHER = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    for line in sys.stdin:
        print(*alma.retrieve("Test the login form of the shop", "helena").ids, flush=True)
"""


@pytest.mark.slow
def test_another_process_finds_what_was_made_anew(shop: ALMA, path: Path) -> None:
    arguments = [sys.executable, "-c", OTHER, str(path.parent)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None

        def asked() -> str:
            print("ask", file=other.stdin, flush=True)
            return other.stdout.readline()

        before = asked()
        execute(path, "DELETE FROM passage WHERE row % 2", "DELETE FROM vector")
        assert shop.verify(rebuild=True).ok
        assert asked() == before != "\n"
        other.stdin.close()


LOST = {
    "a payload": ("UPDATE journal SET payload = X'5B5D' WHERE project = 1 AND seq = 9", "the payload of record 9 was changed"),
    "a record": ("DELETE FROM journal WHERE project = 1 AND seq = 9", "record 9 is missing"),
    "the newest record": (
        "DELETE FROM journal WHERE place = (SELECT max(place) FROM journal WHERE project = 1)",
        "the newest record",
    ),
    "an author": ("UPDATE journal SET actor = 'mallory' WHERE project = 1 AND seq = 9", "record 9 does not follow"),
    "the number of a project": ("UPDATE project SET row = 9 WHERE row = 1", "rows of the project 1, which there is not"),
    "a place": ("UPDATE journal SET place = place + 1000 WHERE project = 1 AND seq = 5", "record 5 is missing"),
    "a hash": ("UPDATE journal SET hash = X'00' WHERE project = 1 AND seq = 9", "record 9 does not follow"),
    "a digest": ("UPDATE journal SET digest = X'00' WHERE project = 1 AND seq = 9", "the payload of record 9 was changed"),
    "a name": ("UPDATE project SET name = 'stop' WHERE row = 1", "record 1 does not follow"),
}


@pytest.mark.parametrize("what", LOST)
def test_damage_of_a_journal_is_named_and_its_rows_are_left_as_they_are(shop: ALMA, path: Path, what: str) -> None:
    statement, told = LOST[what]
    execute(path, "UPDATE memory SET confidence = 0.123 WHERE row = 1", "DELETE FROM text_1_data", statement)
    tables = ("memory", "passage", "record", "usage", "journal")
    before = [rows(path, f"SELECT * FROM {table}") for table in tables]
    report = shop.verify(rebuild=True)

    assert told in " ".join(map(str, report.problems))
    assert any("full text" in str(problem) for problem in report.rebuilt)
    assert before == [rows(path, f"SELECT * FROM {table}") for table in tables]


def test_a_project_is_made_anew_though_the_journal_of_another_is_damaged(shop: ALMA, path: Path) -> None:
    before = shop.for_project("lab").content_hash()
    execute(path, "UPDATE journal SET payload = X'5B5D' WHERE project = 1 AND seq = 9", "DELETE FROM memory WHERE project = 2")
    report = shop.verify(rebuild=True)

    assert {problem.project_id for problem in report.problems} == {"shop"}
    assert {problem.project_id for problem in report.rebuilt} == {"lab"}
    assert shop.for_project("lab").content_hash() == before


def test_no_vector_is_made_where_the_store_does_not_say_for_sure_by_which_embedder(shop: ALMA, path: Path) -> None:
    execute(path, "UPDATE store SET value = replace(value, '4', '5') WHERE key = 'id'", "DELETE FROM vector WHERE row = 1")
    report = shop.verify(rebuild=True)

    told = " ".join(map(str, report.problems))
    assert "store: its values" in told
    assert "is missing; it belongs to" in told


def test_a_model_that_fails_leaves_the_store_as_it_is(tmp_path: Path) -> None:
    class Failing(MockEmbedder):
        is_failing = False

        def embed(self, texts):  # type: ignore[no-untyped-def] # as its base
            if self.is_failing:
                raise RuntimeError("no model")
            return super().embed(texts)

    embedder = Failing()
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=embedder) as alma:
        alma.learn("a", "Deploy the service", "success")
        execute(tmp_path / "alma.db", "DELETE FROM vector", "UPDATE memory SET confidence = 0.123")
        embedder.is_failing = True
        with pytest.raises(EmbeddingError, match="no model"):
            alma.verify(rebuild=True)
        assert rows(tmp_path / "alma.db", "SELECT confidence FROM memory") == [(0.123,)]


def test_what_was_purged_stays_purged(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        secret = alma.add_domain_knowledge("a", "doors", "The code is swordfish")
        alma.learn("a", "Open the door", "success", "With the code")
        alma.purge([secret.id])
        before = alma.content_hash()
        execute(tmp_path / "alma.db", "DELETE FROM memory")
        assert alma.verify(rebuild=True).ok
        assert alma.content_hash() == before
        alma.compact()
    assert b"swordfish" not in (tmp_path / "alma.db").read_bytes()


def test_a_changed_receipt_of_a_purge_is_named_and_not_rebuilt(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        secret = alma.add_domain_knowledge("a", "doors", "The code is swordfish")
        alma.learn("a", "Open the door", "success", "With the code")
        alma.purge([secret.id])
        assert (alma.verify().ok, alma.verify().purged) == (True, 1)
        execute(tmp_path / "alma.db", "UPDATE journal SET payload = X'5B5D' WHERE operation = 'purge'")
        report = alma.verify(rebuild=True)
    assert "the payload of record 3 was changed" in " ".join(map(str, report.problems))
    assert "the payload of journal record 1 is gone without a purge" in " ".join(map(str, report.problems))


def test_the_vector_of_a_strategy_comes_back_with_what_was_undone(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("a", "Open the door", "success", "With the key under the mat")
        alma.undo(0)
        alma.compact()  # drops the vectors that nothing has
        alma.undo(1)
        assert alma.verify().problems == ()
