"""A file that is no whole database of ALMA is an error with advice, never a crash of the driver and never an empty store."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ConfigurationError, CorruptStoreError, EmbedderMismatchError, StorageError
from alma.storage.sqlite.database import Database
from stores import Filled, execute, fill, new_storage, open_alma, rows

PAGE = 4096


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(tmp_path_factory.mktemp("filled"))


def refused(folder: Path, match: str, error: type[Exception] = CorruptStoreError) -> None:
    """Opening raises, and leaves the file as it is."""
    before = (folder / "alma.db").read_bytes()
    with pytest.raises(error, match=match):
        ALMA.open(folder, project_id="shop")
    assert (folder / "alma.db").read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"S", b"SQLite format 3\x00", b"garbage" * 3000, bytes(8192), b"SQLite format 3\x00" + b"\xff" * 9000]
)
def test_a_file_that_is_no_database_is_refused_with_advice(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "alma.db").write_bytes(content)

    refused(tmp_path, r"alma\.db .*(backup)")


def test_a_database_cut_short_anywhere_is_refused_with_advice(tmp_path: Path, filled: Filled) -> None:
    whole = filled.path.read_bytes()
    ends = {boundary + extra for boundary in range(0, len(whole), PAGE) for extra in (-1, 0, 1, 99, 100, 2048)}
    for end in sorted(end for end in ends if 0 <= end < len(whole)):
        (tmp_path / "alma.db").write_bytes(whole[:end])
        refused(tmp_path, r"alma\.db is (cut short|damaged|not an ALMA database).*backup")


def test_a_database_cut_short_beside_a_log_that_was_left_is_never_an_empty_store(tmp_path: Path, filled: Filled) -> None:
    shutil.copy(filled.path, tmp_path / "alma.db")
    with open_alma(tmp_path, dimension=16) as alma:
        alma.learn("helena", "One more task", "success", "Some way")
        files = {name: (tmp_path / name).read_bytes() for name in ("alma.db", "alma.db-wal")}
    for end in range(0, len(files["alma.db"]), PAGE):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / "alma.db").write_bytes(files["alma.db"][:end])
        (folder / "alma.db-wal").write_bytes(files["alma.db-wal"])
        assert_damage_shows(folder)


@pytest.mark.parametrize(
    "definition", [b"CREATE TABLE journal", b"CREATE TABLE store", b"CREATE INDEX passage_seq"], ids=bytes.decode
)
@pytest.mark.parametrize("byte", [b"?", b"\xff"], ids=["a wrong letter", "no letter at all"])
def test_a_damaged_definition_is_refused_with_advice(tmp_path: Path, filled: Filled, definition: bytes, byte: bytes) -> None:
    data = filled.path.read_bytes()
    assert data.count(definition) == 1
    (tmp_path / "alma.db").write_bytes(data.replace(definition, definition[:-1] + byte))

    refused(tmp_path, r"alma\.db is damaged .*malformed.*backup")


def assert_damage_shows(folder: Path) -> None:
    try:
        with ALMA.open(folder, project_id="shop") as alma:
            is_whole = alma.get_stats().total == 6  # the log may hold all that was cut off
            problems = alma.verify().problems
    except StorageError:
        return
    assert problems or is_whole


def make_foreign(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE customer (name TEXT)", "INSERT INTO customer VALUES ('Ada')"],
        ["CREATE TABLE memory (text TEXT)"],
        ["CREATE TABLE migration (name TEXT)"],
        ["CREATE TABLE migration (version INTEGER)"],
        ["CREATE TABLE migration (name TEXT)", "INSERT INTO migration VALUES ('0001_initial')"],
        ["PRAGMA user_version = 3"],
    ],
    ids=lambda statements: statements[-1][:40],
)
def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, statements: list[str]) -> None:
    make_foreign(tmp_path / "alma.db", *statements)

    refused(tmp_path, r"alma", (CorruptStoreError, ConfigurationError, StorageError))


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM store WHERE key = 'id'", "DELETE FROM store", "UPDATE store SET value = '{}' WHERE key = 'embedder'"],
)
def test_a_database_that_does_not_say_what_it_is_is_refused(tmp_path: Path, statement: str) -> None:
    new_storage(tmp_path).close()
    execute(tmp_path / "alma.db", statement)

    refused(tmp_path, r"alma\.db does not say which database it is and which embedder made it; restore it from a backup")


@pytest.mark.parametrize("table", ["memory", "passage", "vector", "journal", "project", "store", "migration", "text_1"])
def test_a_lost_table_is_an_error_of_alma(tmp_path: Path, filled: Filled, table: str) -> None:
    shutil.copy(filled.path, tmp_path / "alma.db")
    make_foreign(tmp_path / "alma.db", f"DROP TABLE {table}")

    def use() -> None:
        with ALMA.open(tmp_path, project_id="shop") as alma:
            assert not alma.verify().ok
            alma.retrieve("Test the login form", "helena")
            alma.learn("helena", "A task", "success", "A way")
            raise StorageError("journal and passages are not needed for this, and verify told")

    with pytest.raises(StorageError):
        use()


def test_a_project_that_is_gone_from_an_open_file_is_an_error_of_alma(tmp_path: Path) -> None:
    """As where another file takes the place of the one that is open."""
    with open_alma(tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        assert alma.retrieve("Test the login form", "helena").total_items == 1
        execute(tmp_path / "alma.db", "DELETE FROM project")
        for call in (lambda: alma.retrieve("Test the login form", "helena"), lambda: alma.undo(0)):
            with pytest.raises(CorruptStoreError, match="'shop' is no longer in"):
                call()


def test_a_store_that_an_older_backup_replaces_while_it_is_open_is_neither_read_nor_written_any_more(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        last = "(SELECT name FROM migration ORDER BY name DESC LIMIT 1)"
        execute(tmp_path / "alma.db", f"DELETE FROM migration WHERE name = {last}")
        written = rows(tmp_path / "alma.db", "SELECT count(*) FROM journal")
        for call in (
            lambda: alma.learn("helena", "Test the login form", "failure"),
            lambda: alma.retrieve("Test the login form", "helena"),
        ):
            with pytest.raises(StorageError, match=r"alma\.db was replaced by that of an older ALMA.*start it again"):
                call()
        assert rows(tmp_path / "alma.db", "SELECT count(*) FROM journal") == written


def test_a_store_that_a_newer_version_brings_up_to_date_while_it_is_open_is_neither_read_nor_written_any_more(
    tmp_path: Path,
) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        execute(tmp_path / "alma.db", "INSERT INTO migration VALUES ('m999_from_the_future', 1)")
        written = rows(tmp_path / "alma.db", "SELECT count(*) FROM journal")
        for call in (
            lambda: alma.learn("helena", "Test the login form", "failure"),
            lambda: alma.retrieve("Test the login form", "helena"),
            lambda: alma.for_project("another").learn("helena", "Test the login form", "success"),
        ):
            with pytest.raises(
                ConfigurationError, match=r"newer ALMA has brought .*alma\.db up to date.*start it with that version"
            ):
                call()
    assert rows(tmp_path / "alma.db", "SELECT count(*) FROM journal") == written


def test_tables_that_a_newer_version_has_changed_are_not_called_damage_alone(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        execute(tmp_path / "alma.db", "ALTER TABLE project RENAME COLUMN head_seq TO newest")
        with pytest.raises(CorruptStoreError, match=r"or a newer ALMA has changed its tables.*open it again"):
            alma.retrieve("Test the login form", "helena")


def test_a_folder_in_place_of_the_file_is_an_error_of_alma(tmp_path: Path) -> None:
    (tmp_path / "alma.db").mkdir()

    with pytest.raises(StorageError, match=r"alma\.db cannot be used: Is a directory"):
        open_alma(tmp_path)


def test_another_embedder_than_the_one_it_was_made_with_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    open_alma(tmp_path, dimension=16).close()

    with pytest.raises(EmbedderMismatchError, match=r"16 dimensions.*32 dimensions.*alma reindex"):
        open_alma(tmp_path, dimension=32)


def test_a_closed_store_says_so_and_not_that_it_is_damaged(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    storage.close()

    with pytest.raises(StorageError, match=r"alma\.db was closed; open ALMA again"):
        storage.project_names()


def test_a_call_that_reads_when_its_store_is_closed_reads_on_and_the_next_one_is_refused(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    with storage.database.snapshot() as connection:
        storage.close()
        with storage.database.reading() as same:
            assert same is connection
            assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    for _ in range(2):
        with pytest.raises(StorageError, match="was closed; open ALMA again"), storage.database.snapshot():
            pass


CLOSED_UNDER_READERS = """
import sys, threading
from alma import ALMA, StorageError
def read(alma):
    try:
        while True:
            alma.retrieve("Deploy the service", "dev")
            alma.verify()
    except StorageError as error:
        assert "closed" in str(error), error
        done.append(1)
done = []
for number in range(12):
    alma = ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash")
    alma.learn_many({"agent": "dev", "task": f"Deploy service {place}", "outcome": "success"} for place in range(40))
    threads = [threading.Thread(target=read, args=(alma,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    alma.learn("dev", "Deploy the service", "failure")
    alma.close()
    for thread in threads:
        thread.join()
print(len(done))
"""


@pytest.mark.slow
def test_a_store_may_be_closed_while_threads_read(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLOSED_UNDER_READERS, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout, found.stderr) == (0, "48\n", "")


def test_a_reading_that_another_thread_ends_leaves_its_connection_to_one_alone(tmp_path: Path) -> None:
    database = new_storage(tmp_path).database

    def reading() -> Iterator[None]:
        with database.snapshot():
            yield

    begun = reading()
    next(begun)
    with ThreadPoolExecutor(1) as other:
        other.submit(begun.close).result()  # type: ignore[attr-defined] # a generator
        with database.reading() as mine:
            assert other.submit(lambda: _of(database)).result() is not mine
    database.close()


def _of(database: Database) -> sqlite3.Connection:
    with database.reading() as connection:
        return connection


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from alma.errors import CorruptStoreError, StorageError
from stores import open_alma
with open_alma(Path(sys.argv[1]), dimension=16) as alma:  # loads all there is to load
    alma.learn("helena", "A task", "success", "A way")
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for folder in sys.argv[2:]:
    try:
        with open_alma(Path(folder), dimension=16) as alma:
            alma.learn("helena", "A task", "success", "A way")
            print("written:", folder)
    except StorageError as error:
        print("damaged:" if isinstance(error, CorruptStoreError) else "refused:", error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "setuid"), reason="permissions of this kind are Unix's")
def test_what_may_not_be_written_is_an_error_of_alma_and_not_called_damage(filled: Filled) -> None:
    modes = {  # of the folder, and of the database in it
        "a file that may not be written": (0o777, 0o444),
        "a file that may not be read": (0o777, 0o000),
        "a folder that may not be written": (0o555, 0o666),
        "a folder to make a store in that may not be written": (0o555, None),
    }
    with tempfile.TemporaryDirectory() as place:  # not tmp_path, which is closed to other users
        Path(place).chmod(0o755)
        folders = [laid_out(Path(place, name), filled, *given) for name, given in modes.items()]
        arguments = [sys.executable, "-c", UNPRIVILEGED, str(Path(place, "own")), *map(str, folders)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(arguments, capture_output=True, text=True, env=environ)

    assert done.stderr == ""
    assert [line[:8] for line in done.stdout.splitlines()] == ["refused:"] * 4, done.stdout
    assert all(str(folder) in done.stdout for folder in folders)


def laid_out(folder: Path, filled: Filled, folder_mode: int, file_mode: int | None) -> Path:
    folder.mkdir()
    if file_mode is not None:
        shutil.copy(filled.path, folder / "alma.db")
        (folder / "alma.db").chmod(file_mode)
    folder.chmod(folder_mode)
    return folder if file_mode is not None else folder / "store"
