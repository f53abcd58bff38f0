"""Vectors searched by pgvector, in a database of its own that has the extension."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from alma import ALMA
from alma.errors import ConfigurationError
from alma.memory.room import SearchSizes
from alma.protocols import CandidateFactory, VectorsRequest
from alma.testing import CandidateSearchContract
from alma_postgres import Address, vector_index
from alma_postgres.database import PostgresDatabase
from alma_postgres.nearest import NearestTable, nearest_of
from alma_postgres.setup import setup_sql
from postgres_server import PostgresServer
from store_fixtures import schema_of

TASKS = [
    f"{verb} the {thing} of {place}"
    for verb in ("Deploy", "Test", "Repair")
    for thing in ("service", "form", "bridge")
    for place in ("Oslo", "Lima", "Quito", "Accra")
]


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    """A database with the extension."""
    return server.new_database("CREATE EXTENSION vector")


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has even a few memories searched as a large scope."""
    sizes = SearchSizes(all_up_to=5, sample=8, hits=10, beside_above=5)
    monkeypatch.setattr("alma.memory.opening.SearchSizes", lambda: sizes)


@pytest.fixture
def opened(url: str, tmp_path: Path) -> Iterator[Callable[[], ALMA]]:
    made: list[ALMA] = []

    def open_it() -> ALMA:
        made.append(
            ALMA.open(
                tmp_path / "no folder",
                project_id="shop",
                embedding_provider="hash",
                storage=f"{url}?schema={schema_of(tmp_path)}",
            )
        )
        return made[-1]

    yield open_it
    for alma in made:
        alma.close()


def texts(alma: ALMA) -> list[str]:
    return [item.memory.text for item in alma.retrieve("Repair the bridge of Lima", "helena", top_k=8).recalled]


def rows(url: str, folder: Path) -> int:
    with psycopg.connect(url) as looking:
        ((table,),) = looking.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename ~ '^nearest_[0-9]'", (schema_of(folder),)
        ).fetchall()
        ((count,),) = looking.execute(f'SELECT count(*) FROM "{schema_of(folder)}"."{table}"'.encode()).fetchall()
    return int(count)


def test_it_finds_what_the_index_of_a_process_finds(
    opened: Callable[[], ALMA], url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alma = opened()
    with ALMA.open(tmp_path_factory.mktemp("plain"), project_id="shop", embedding_provider="hash") as plain:
        for task in TASKS:
            for each in (alma, plain):
                each.learn(agent="helena", task=task, outcome="success", strategy_used=f"carefully {task}")
        assert sorted(texts(alma)) == sorted(texts(plain))
    assert rows(url, tmp_path) >= len(TASKS)


def test_what_is_archived_or_purged_leaves_the_table(opened: Callable[[], ALMA], url: str, tmp_path: Path) -> None:
    alma = opened()
    facts = [
        alma.add_domain_knowledge(agent="helena", domain="bridges", fact=f"The bridge of {place} has rivets") for place in "ABC"
    ]
    assert alma.retrieve("rivets", "helena").total_items == 3
    assert rows(url, tmp_path) == 3
    alma.forget(memory_ids=[facts[0].id])
    alma.retrieve("rivets", "helena")
    assert rows(url, tmp_path) == 2
    alma.purge([facts[1].id])
    assert rows(url, tmp_path) == 1


def test_another_process_takes_up_where_one_stopped(opened: Callable[[], ALMA], url: str, tmp_path: Path) -> None:
    one = opened()
    one.learn(agent="helena", task="Repair the bridge of Lima", outcome="success", strategy_used="rivets")
    assert texts(one)
    other = opened()
    other.learn(agent="helena", task="Repair the bridge of Quito", outcome="success", strategy_used="bolts")
    assert sorted(texts(one)) == sorted(texts(other))


def test_rows_that_were_lost_with_the_watermark_come_back(opened: Callable[[], ALMA], url: str, tmp_path: Path) -> None:
    alma = opened()
    for place in "ABCDEFGH":
        alma.learn(agent="helena", task=f"Repair the bridge of {place}", outcome="success", strategy_used="rivets")
    before, count = texts(alma), rows(url, tmp_path)
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute(f"UPDATE \"{schema_of(tmp_path)}\".nearest_upto SET watermark = '{{}}'".encode())
    assert texts(alma) == before
    assert rows(url, tmp_path) == count


class TestNearestTable(CandidateSearchContract):
    """The table alone, beside tables of passages and projects that have no more than it needs."""

    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {}

    kind = "hnsw"

    @pytest.fixture
    def factory(self, url: str, tmp_path: Path) -> Iterator[CandidateFactory]:
        schema = schema_of(tmp_path)
        with psycopg.connect(url, autocommit=True) as administrator:
            administrator.execute(
                f'CREATE SCHEMA {schema}; CREATE TABLE {schema}.project ("row" bigint PRIMARY KEY, name text);'
                f"INSERT INTO {schema}.project VALUES (1, 'shop'), (2, 'other');"
                f'CREATE TABLE {schema}.passage ("row" bigint PRIMARY KEY, project bigint, is_live int);'
                f"INSERT INTO {schema}.passage SELECT n, 1, 1 FROM generate_series(0, 999) AS n".encode()
            )
        database = PostgresDatabase(Address.of_url(f"{url}?schema={schema}&vector_index_type={self.kind}"))

        def make(request: VectorsRequest) -> NearestTable:
            made = nearest_of(database, request)
            assert made is not None
            return made

        yield make
        database.close()


class TestNearestTableByLists(TestNearestTable):
    kind = "ivfflat"

    @pytest.fixture(autouse=True)
    def _few_rows_have_lists(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", 20)


def test_a_passage_that_is_gone_does_not_come_back_with_late_changes(
    opened: Callable[[], ALMA], url: str, tmp_path: Path
) -> None:
    alma = opened()
    facts = [
        alma.add_domain_knowledge(agent="helena", domain="bridges", fact=f"The bridge of {place} has rivets") for place in "AB"
    ]
    project = alma.storage.project("shop")  # type: ignore[attr-defined] # of this store
    late = list(project.changes(after=0))
    alma.purge([facts[0].id])
    request = VectorsRequest(str(tmp_path), alma.storage.id, "shop", alma.storage.fingerprint, {}, project.head_at)  # type: ignore[attr-defined]
    search = nearest_of(alma.storage.database, request)  # type: ignore[attr-defined] # of this store
    assert search is not None
    search.clear()
    for changes in late:  # of a process that read them before the purge
        search.apply(changes)
    assert rows(url, tmp_path) == 1


def test_the_role_of_the_setup_searches_by_pgvector_behind_its_walls(url: str, tmp_path: Path) -> None:
    schema = schema_of(tmp_path)
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute(setup_sql(schema, f"r{schema}", ["shop"], dimension=384).encode())
    role = url.replace("alma@", f"r{schema}@") + f"?schema={schema}"
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=role) as alma:
        for task in TASKS:
            alma.learn(agent="helena", task=task, outcome="success", strategy_used=f"carefully {task}")
        assert texts(alma)
    assert rows(url, tmp_path) >= len(TASKS)


def test_an_index_that_is_not_built_is_refused(url: str, tmp_path: Path) -> None:
    for given in ({"url": url, "vector_index_type": "flat"}, {"url": f"{url}?vector_index_type=flat"}):
        with pytest.raises(ConfigurationError, match="'flat' is not one of hnsw, ivfflat, none"):
            ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage="postgres", storage_options=given)


def test_longer_vectors_than_the_index_takes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="dimension"):
        setup_sql(dimension=4001)


def test_without_the_extension_the_index_is_in_the_process(server: PostgresServer, tmp_path: Path) -> None:
    with ALMA.open(
        tmp_path, project_id="shop", embedding_provider="hash", storage=f"{server.url}?schema={schema_of(tmp_path)}"
    ) as alma:
        alma.learn(agent="helena", task="Repair the bridge of Lima", outcome="success", strategy_used="rivets")
        assert texts(alma)
    with psycopg.connect(server.url) as looking:
        found = looking.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename ~ '^nearest'", (schema_of(tmp_path),)
        )
        assert found.fetchall() == [(0,)]


def test_without_an_index_outside_there_is_no_table_of_vectors(url: str, tmp_path: Path) -> None:
    with of_kind("none", url, tmp_path) as alma:
        alma.learn("helena", TASKS[0], "success", "Blue-green")
        assert [found.task_description for found in alma.retrieve(TASKS[0], "helena").outcomes] == [TASKS[0]]
    assert read(url, "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'nearest%%'", tmp_path) == [(0,)]


def of_kind(kind: str, url: str, folder: Path) -> ALMA:
    options = {"url": f"{url}?schema={schema_of(folder)}", "vector_index_type": kind}
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", storage="postgres", storage_options=options)


def read(url: str, query: LiteralString, folder: Path) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query, (schema_of(folder),)).fetchall()


def index_of(url: str, folder: Path) -> list[tuple[object, ...]]:
    """The kind and the options of the index of vectors, of a schema that has one."""
    query = (
        "SELECT a.amname, c.reloptions FROM pg_class c JOIN pg_am a ON a.oid = c.relam JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname LIKE 'nearest%%_vector'"
    )
    return read(url, query, folder)


def learn_all(alma: ALMA) -> None:
    for task in TASKS:
        alma.learn(agent="helena", task=task, outcome="success", strategy_used=f"carefully {task}")
    assert texts(alma)


def test_ivfflat_finds_what_hnsw_finds(
    url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", 8)
    other = tmp_path_factory.mktemp("hnsw")
    with of_kind("ivfflat", url, tmp_path) as lists, of_kind("hnsw", url, other) as graph:
        for alma in (lists, graph):
            learn_all(alma)
        for question in ("Repair the bridge of Lima", "Deploy to Oslo", "Which form was tested in Quito?"):
            found = [
                [item.memory.text for item in alma.retrieve(question, "helena", top_k=8).recalled] for alma in (lists, graph)
            ]
            assert found[0] == found[1] != []
    assert index_of(url, other) == [("hnsw", None)]
    assert [kind for kind, _ in index_of(url, tmp_path)] == ["ivfflat"]


def test_lists_are_trained_anew_as_a_table_grows_and_a_small_one_has_none(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with of_kind("ivfflat", url, tmp_path) as alma:
        learn_all(alma)
        assert index_of(url, tmp_path) == []
        trained = []
        for rows in (32, 4, 2):
            monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", rows)
            alma.learn("helena", f"Paint {rows} doors", "success", "carefully")
            assert f"Paint {rows} doors" in " ".join(item.memory.text for item in alma.retrieve("Paint doors", "helena").recalled)
            trained += index_of(url, tmp_path)
    numbers = [int(str(options[0]).partition("=")[2]) for _, options in trained]  # type: ignore[index] # an array of texts
    assert numbers[0] < numbers[1] == numbers[2]


def test_threads_that_write_while_lists_are_trained_lose_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", 4)
    monkeypatch.setattr(vector_index, "GROWTH", 2)

    def work(number: int) -> int:
        with of_kind("ivfflat", url, tmp_path) as alma:
            for task in TASKS[number::4]:
                alma.learn(f"agent {number}", task, "success", f"carefully {task}")
                assert task in " ".join(item.memory.text for item in alma.retrieve(task, f"agent {number}").recalled)
        return len(TASKS[number::4])

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(work, range(4))) == len(TASKS)
    assert [kind for kind, _ in index_of(url, tmp_path)] == ["ivfflat"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == []


@pytest.mark.parametrize(("first", "then"), [("hnsw", "ivfflat"), ("ivfflat", "hnsw")])
def test_the_kind_that_the_configuration_names_takes_the_place_of_another(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", 8)
    with of_kind(first, url, tmp_path) as alma:
        learn_all(alma)
        before = texts(alma)
    with of_kind(then, url, tmp_path) as alma:
        assert texts(alma) == before
    assert [kind for kind, _ in index_of(url, tmp_path)] == [then]


def test_a_role_that_may_make_no_index_keeps_the_one_that_is_there(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_index, "ROWS_OF_A_LIST", 8)
    schema = schema_of(tmp_path)
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute(setup_sql(schema, f"r{schema}", ["shop"], dimension=384).encode())
    with of_kind("ivfflat", url.replace("alma@", f"r{schema}@"), tmp_path) as alma:
        learn_all(alma)
    assert index_of(url, tmp_path) == [("hnsw", None)]
    assert len([each for each in caplog.records if "No index of vectors of the kind ivfflat" in each.getMessage()]) == 1
