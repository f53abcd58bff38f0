"""Files of former versions whose tables had not been brought up to date by the last of these."""

import gzip
import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest

from alma.errors import StorageError
from alma.storage.sqlite.store import SQLStorage
from alma_testing.contracts.stored import found_by_words
from encrypted import KEY, open_encrypted
from stores import NOW, execute, rows

PLAIN = Path(__file__).parent / "data" / "plain.gz"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that the last former version wrote."""
    made = tmp_path / "alma.db"
    made.write_bytes(gzip.decompress(PLAIN.read_bytes()))
    return made


def test_a_database_of_a_draft_with_other_tables_is_refused_and_left_alone(path: Path) -> None:
    execute(
        path,
        "DROP INDEX evidence_class",
        "ALTER TABLE evidence RENAME COLUMN task TO vector",
        "DELETE FROM migration WHERE name > 'm002'",
    )
    before = rows(path, "SELECT name, sql FROM sqlite_master"), rows(path, "SELECT * FROM migration")

    with pytest.raises(StorageError, match=r"a draft of ALMA 0.1.*no evidence\.task.*nothing was changed.*add what that lists"):
        SQLStorage(path, at=NOW)
    assert (rows(path, "SELECT name, sql FROM sqlite_master"), rows(path, "SELECT * FROM migration")) == before


def test_indexes_that_a_draft_had_otherwise_are_made_anew(path: Path) -> None:
    execute(
        path,
        "DROP INDEX memory_evidence",
        "DROP INDEX memory_partition",
        "CREATE INDEX memory_evidence ON memory (project, evidence) WHERE evidence IS NOT NULL",
        "CREATE INDEX memory_partition ON memory (partition, agent)",
        "CREATE INDEX of_a_person ON memory (agent)",
        "DELETE FROM migration WHERE name LIKE 'm003%'",
    )

    with closing(SQLStorage(path, at=NOW)) as storage:
        assert storage.verify().problems == ()
    assert len(rows(path, "SELECT sql FROM sqlite_master WHERE name = 'of_a_person'")) == 1


def test_memories_that_wait_for_the_full_text_are_found_by_their_words(path: Path) -> None:
    ((memory, text),) = rows(path, "SELECT memory, text FROM passage WHERE CAST(text AS TEXT) LIKE '%Frankfurt%'")
    execute(
        path,
        f"INSERT INTO text_1 (text_1, rowid, text) VALUES ('delete', {2 * memory}, '{text.decode()}')",
        "ALTER TABLE project ADD COLUMN unindexed TEXT NOT NULL DEFAULT '[]'",
        f"UPDATE project SET unindexed = '[{memory}]'",
        "DELETE FROM migration WHERE name LIKE 'm006%'",
    )

    with closing(SQLStorage(path, at=NOW)) as storage:
        assert found_by_words(storage.project("shop"), "frankfurt") == {memory}
    assert "unindexed" not in rows(path, "SELECT sql FROM sqlite_master WHERE name = 'project'")[0][0]


def test_vectors_of_the_time_before_checksums_get_them_and_damage_of_that_time_stays_damage(path: Path) -> None:
    damaged = "text_hash = (SELECT text_hash FROM passage WHERE CAST(text AS TEXT) LIKE '%Frankfurt%')"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("former", 1, lambda vector: blake2b(vector, digest_size=8).digest())
        connection.execute("UPDATE vector SET checksum = former(vector)")
    execute(
        path,
        "DELETE FROM migration WHERE name = 'm004_checksums'",
        "DELETE FROM store WHERE key = 'checksum'",
        f"UPDATE vector SET vector = zeroblob(32) WHERE {damaged}",
    )

    with closing(SQLStorage(path, at=NOW)) as storage:
        (problem,) = storage.verify().problems
    assert problem.what.startswith("was changed; it belongs to memory")


@pytest.mark.parametrize("key", [None, KEY])
def test_full_text_of_the_layout_before_is_made_anew(tmp_path: Path, key: bytes | None) -> None:
    task, path = "Deploy the zeppelins", tmp_path / "alma.db"
    with open_encrypted(tmp_path, key=key) as alma:
        alma.learn("dev", task, "success", "Go blue-green")
        found = alma.retrieve("Which zeppelin was deployed?", "dev").ids
    execute(path, "DROP TABLE words_1", "DROP TABLE text_1", "DELETE FROM migration WHERE name LIKE 'm009%'")
    if key is None:  # encrypted stores had none
        execute(
            path,
            "CREATE VIRTUAL TABLE text_1 USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')",
            "CREATE VIRTUAL TABLE words_1 USING fts5vocab('text_1', 'instance')",
            f"INSERT INTO text_1 (rowid, text) VALUES (2, '{task}')",
        )

    with open_encrypted(tmp_path, key=key) as alma:
        assert alma.verify().problems == ()
        assert alma.retrieve("Which zeppelin was deployed?", "dev").ids == found
        assert found_by_words(alma._store.storage.project("shop"), "zeppelin") == {1}
    assert (b"zeppelin" in path.read_bytes()) == (key is None)
