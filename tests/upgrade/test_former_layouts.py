"""Files of former versions whose tables had not been brought up to date by the last of these."""

import gzip
from contextlib import closing
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


def test_a_database_between_two_known_layouts_is_refused_and_left_alone(path: Path) -> None:
    execute(path, "DELETE FROM migration WHERE name > 'm004'")
    before = rows(path, "SELECT name, sql FROM sqlite_master"), rows(path, "SELECT * FROM migration")

    with pytest.raises(StorageError, match=r"a draft of ALMA 0\.1.*nothing was changed"):
        SQLStorage(path, at=NOW)
    assert (rows(path, "SELECT name, sql FROM sqlite_master"), rows(path, "SELECT * FROM migration")) == before


def test_indexes_of_a_person_are_kept(path: Path) -> None:
    execute(path, "CREATE INDEX of_a_person ON evidence (agent)", "CREATE INDEX of_a_person_too ON partition (owner)")

    with closing(SQLStorage(path, at=NOW)) as storage:
        assert storage.verify().problems == ()
    assert rows(path, "SELECT name FROM sqlite_master WHERE name LIKE 'of_a_person%'") == [("of_a_person_too",)]


@pytest.mark.parametrize("key", [None, KEY])
def test_full_text_of_the_layout_before_is_made_anew(tmp_path: Path, key: bytes | None) -> None:
    task, path = "Deploy the zeppelins", tmp_path / "alma.db"
    with open_encrypted(tmp_path, key=key) as alma:
        alma.learn("dev", task, "success", "Go blue-green")
        found = alma.retrieve("Which zeppelin was deployed?", "dev").ids
    execute(path, "DROP TABLE words_1", "DROP TABLE text_1", "DELETE FROM migration WHERE name > 'm009'")
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
        assert found_by_words(alma.storage.project("shop"), "zeppelin") == {1}
    assert (b"zeppelin" in path.read_bytes()) == (key is None)
