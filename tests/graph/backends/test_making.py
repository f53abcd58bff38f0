"""Backends by name, and stores on them."""

import sys
from pathlib import Path

import pytest

from alma.errors import ConfigurationError, MissingDependencyError, StorageError, ValidationError
from alma.graph import BackendGraphStore, Entity, InMemoryGraphStore, Relationship, create_graph_backend, create_graph_store
from alma_graph.backends import missing


@pytest.mark.parametrize("name", ["neo4jj", "", "TigerGraph", "graph"])
def test_the_error_for_an_unknown_backend_lists_those_there_are(name: str) -> None:
    with pytest.raises(ValidationError, match="memory, sqlite, ladybug, kuzu, neo4j, memgraph, arcadedb, falkordb, neptune"):
        create_graph_backend(name)


def test_the_error_for_tigergraph_says_why_there_is_none() -> None:
    with pytest.raises(ValidationError, match="GSQL"):
        create_graph_backend("tigergraph")


def test_the_error_for_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(ValidationError, match="did you mean 'database_path'"):
        create_graph_backend("kuzu", database_pth="x")


def test_sqlite_needs_a_path() -> None:
    with pytest.raises(ConfigurationError, match="database_path"):
        create_graph_backend("sqlite")


def test_a_file_that_is_no_database_is_an_error_of_storage(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.write_text("something else " * 1_000)
    with pytest.raises(StorageError):
        create_graph_backend("sqlite", database_path=path)


@pytest.mark.parametrize(
    ("name", "options", "module"),
    [
        ("neo4j", {"uri": "bolt://127.0.0.1:1"}, "neo4j"),
        ("memgraph", {}, "neo4j"),
        ("falkordb", {}, "falkordb"),
        ("neptune", {"endpoint": "http://127.0.0.1:1"}, "boto3"),
    ],
)
def test_a_driver_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, str], module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install {module}\b.*alma-graph\["):
        create_graph_backend(name, **options)


def test_without_ladybug_and_kuzu_the_error_names_the_one_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma_graph.backends.ladybug.LIBRARIES", ("no_such_library",))
    with pytest.raises(MissingDependencyError, match="pip install ladybug"):
        create_graph_backend("kuzu")


def test_a_fault_inside_a_driver_is_not_taken_for_its_absence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_driver.py").write_text("import something_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="something_that_is_not_there"):
        missing.load("broken_driver", "neo4j")


def test_the_published_calls_run_without_a_server() -> None:
    graph = BackendGraphStore(create_graph_backend("memory"))
    entities = [Entity("1", "Alice", "person"), Entity("2", "Acme Corp", "organization"), Entity("3", "Bob", "person")]
    relationships = [Relationship("r1", "1", "2", "WORKS_FOR"), Relationship("r2", "1", "3", "REVIEWED")]
    for entity in entities:
        graph.add_entity(entity)
    for rel in relationships:
        graph.add_relationship(rel)
    alice_relations = graph.get_relationships("alice", relationship_type="WORKS_FOR")
    assert [graph.get_entity(each.target_id) for each in alice_relations] == [entities[1]]


def test_two_names_for_one_argument_have_to_agree() -> None:
    graph = InMemoryGraphStore()
    graph.add_entity(Entity("1", "Alice", "person"))
    assert graph.get_relationships("alice", relation_type="KNOWS", relationship_type="KNOWS") == []
    with pytest.raises(ValidationError, match="not both"):
        graph.get_relationships("alice", relation_type="KNOWS", relationship_type="WORKS_FOR")


def test_a_store_is_made_by_the_name_of_its_backend(tmp_path: Path) -> None:
    with create_graph_store("sqlite", database_path=tmp_path / "graph.db") as graph:
        graph.add_entity(Entity("1", "Alice", "person"))
    with create_graph_store("sqlite", database_path=tmp_path / "graph.db") as graph:
        assert [each.name for each in graph.find_entities("ali")] == ["Alice"]
        graph.clear()
        assert graph.find_entities() == []
    assert create_graph_store().get_entity("alice") is None


def test_hops_and_limits_are_checked() -> None:
    graph = InMemoryGraphStore()
    with pytest.raises(ValidationError, match="max_hops"):
        graph.traverse("alice", max_hops=-1)
    with pytest.raises(ValidationError, match="limit"):
        graph.traverse("alice", limit=0)


def test_processes_share_a_file_of_sqlite(tmp_path: Path) -> None:
    one, other = (create_graph_backend("sqlite", database_path=tmp_path / "graph.db") for _ in range(2))
    one.add_entity(Entity("1", "Alice", "person"))
    assert other.resolve("alice") is not None
    one.close()
    other.close()
