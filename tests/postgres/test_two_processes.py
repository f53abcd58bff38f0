"""Two real processes beside one index of pgvector."""

from pathlib import Path

import psycopg
import pytest

from beside_an_index import process, work_in_turn_and_at_once
from postgres_server import PostgresServer
from store_fixtures import schema_of

pytestmark = pytest.mark.slow
INSERT = "alma_postgres.nearest:NearestTable._insert"


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    """A database with the extension."""
    return server.new_database("CREATE EXTENSION vector")


@pytest.fixture
def config(url: str, tmp_path: Path) -> Path:
    path = tmp_path / "alma.yaml"
    path.write_text(
        f'project_id: shop\nstorage: postgres\nembedding_provider: hash\npostgres: {{url: "{url}?schema={schema_of(tmp_path)}"}}\n'
    )
    return path


def rows(url: str, folder: Path) -> tuple[int, int]:
    """Rows of the table of vectors, and how many were ever inserted there, deleted ones and former versions included."""
    table = f"{schema_of(folder)}.nearest_384"
    with psycopg.connect(url, autocommit=True) as looking:
        ((count,),) = looking.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()
        made = 0
        for _ in range(100):  # a server reports what its processes did up to some seconds later
            ((made,),) = looking.execute(
                "SELECT n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE relid = %s::regclass", (table,)
            ).fetchall()
            if made >= count:
                break
            looking.execute("SELECT pg_sleep(0.1)")
    return int(count), int(made)


def test_each_finds_what_the_other_learned_and_no_row_is_written_twice(config: Path, url: str, tmp_path: Path) -> None:
    with process(config) as one, process(config) as other:
        work_in_turn_and_at_once(one, other)
    assert rows(url, tmp_path) == (34, 34)


def test_what_was_learned_last_is_named_by_the_index_in_the_same_retrieval(config: Path) -> None:
    with process(config) as one:
        one.ask("it.fill('many', 40)")
        assert one.ask("it.alma.retrieve('Bridge 39 of many has rivets', 'helena').recalled[0].memory.text") == (
            "'Bridge 39 of many has rivets'"
        )
        assert one.ask("it.work('one', 3)") == "'all found'"


def test_a_process_killed_while_it_catches_up_leaves_all_to_the_next(config: Path, url: str, tmp_path: Path) -> None:
    with process(config) as one, process(config) as other:
        one.ask("it.learn('first', 0)")
        assert one.ask("it.found()") == "1"
        one.ask("it.fill('many', 1200)")
        one.ask(f"it.die_at({INSERT!r}, 2)")  # in the middle of its transaction
        assert one.ask("it.found()") == ""
        assert int(other.ask("it.found()")) > 300
        assert other.ask("it.held()") == "(1201, 1201)"
    assert rows(url, tmp_path)[0] == 1201
