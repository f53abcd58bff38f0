"""Opening a store, from a folder or a configuration file, and closing it."""

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from alma import ALMA, ConfigurationError, CorruptStoreError, EmbedderMismatchError, MemoryScope, StorageError
from alma.embedding.hashing import HashEmbedder
from facade import OpenStore, held, refused

CONFIGURATION = """
alma:
  project_id: "my-project"
  storage: sqlite
  embedding_provider: hash
  storage_dir: .alma
  db_name: memory.db
  agents:
    helena: {can_learn: [testing], share_with: [victor]}
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "project" / ".alma" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIGURATION, encoding="utf-8")
    return path


def test_opening_makes_the_folder_and_finds_it_again(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "a" / "b", project_id="shop", embedding_provider="hash") as alma:
        outcome = alma.learn(agent="dev", task="Deploy", outcome="success")
    with ALMA.open(tmp_path / "a" / "b", project_id="shop") as alma:
        assert alma.get(outcome.id) == outcome
        assert alma.get_stats().embedder == "hash"


def test_a_relative_folder_lies_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ALMA.open(project_id="shop", embedding_provider="hash").close()
    assert (tmp_path / ".alma" / "alma.db").is_file()


def test_a_configuration_file_says_all_and_the_folder_lies_in_the_project(
    configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ALMA.from_config(str(configuration)) as alma:
        assert alma.project_id == "my-project"
        assert alma.agents == {"helena": MemoryScope(agent_name="helena", can_learn=("testing",), share_with=("victor",))}
        alma.learn(agent="helena", task="Test", outcome="success", task_type="testing")
    assert (configuration.parent / "memory.db").is_file()
    assert not (tmp_path / ".alma").exists()


def test_a_memory_that_is_made_without_opening_it_names_how_to_open_one() -> None:
    with pytest.raises(ConfigurationError, match=r"by ALMA\.open or ALMA\.from_config, not by ALMA\('\.alma'\)"):
        ALMA(".alma")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"by ALMA\.open or ALMA\.from_config, not by ALMA\(\)"):
        ALMA()


def test_a_missing_configuration_file_names_alma_init(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="alma init"):
        ALMA.from_config(tmp_path / ".alma" / "config.yaml")
    assert list(tmp_path.iterdir()) == []


def test_another_project_of_the_same_store_is_opened_from_the_first(alma: ALMA) -> None:
    other = alma.for_project("my-app")
    other.learn(agent="dev", task="Deploy", outcome="success")
    assert other.project_id == "my-app"
    assert held(alma)["total"] == 0
    assert alma.for_project("my-app").get_stats().total == 1


def test_closing_twice_is_harmless_and_leaving_the_block_closes(alma: ALMA) -> None:
    with alma as same:
        assert same is alma
    alma.close()
    with pytest.raises(StorageError, match="was closed"):
        alma.get_stats()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda alma: alma.retrieve(task="t", agent="a"), id="retrieve"),
        pytest.param(lambda alma: alma.learn(agent="a", task="t", outcome="success"), id="learn"),
        pytest.param(lambda alma: alma.learn_many([{"agent": "a", "task": "t", "outcome": True}]), id="learn_many"),
        pytest.param(lambda alma: alma.add_user_preference("u", "c", "p"), id="add_user_preference"),
        pytest.param(lambda alma: alma.add_domain_knowledge("a", "d", "f"), id="add_domain_knowledge"),
        pytest.param(lambda alma: alma.add_anti_pattern("a", "p", "w"), id="add_anti_pattern"),
        pytest.param(lambda alma: alma.add_heuristic("a", "c", "s"), id="add_heuristic"),
        pytest.param(lambda alma: alma.record_usage(["m"], agent="a"), id="record_usage"),
        pytest.param(lambda alma: alma.record_feedback("m", signal="used", agent="a"), id="record_feedback"),
        pytest.param(lambda alma: alma.get("m"), id="get"),
        pytest.param(lambda alma: alma.get_stats(), id="get_stats"),
        pytest.param(lambda alma: alma.verify(), id="verify"),
        pytest.param(lambda alma: alma.for_project("other").get_stats(), id="for_project"),
    ],
)
def test_a_closed_store_says_so(alma: ALMA, call: Callable[[ALMA], object]) -> None:
    alma.learn(agent="a", task="t", outcome="success")
    alma.close()
    with pytest.raises(StorageError, match="was closed; open ALMA again"):
        call(alma)


def test_what_waits_for_the_close_finds_the_store_open(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    made: list[str] = []
    alma.before_close(lambda: made.append(alma.learn("a", "Deploy", "success").kind))
    alma.for_project("other").before_close(lambda: 1 / 0)
    alma.before_close(lambda: made.append("never"))()
    alma.close()
    alma.close()
    assert made == ["outcome"]
    assert "ZeroDivisionError" in caplog.text


def test_nothing_waits_for_the_close_of_a_closed_store(alma: ALMA) -> None:
    alma.close()
    with pytest.raises(StorageError, match="was closed; open ALMA again"):
        alma.before_close(print)


def test_one_project_of_one_open_store_is_equal_however_it_was_come_by(alma: ALMA, tmp_path: Path) -> None:
    again = alma.for_project("other").for_project(alma.project_id)
    assert (again == alma, hash(again) == hash(alma), alma.for_project("other") == alma) == (True, True, False)
    with ALMA.open(tmp_path / "elsewhere", project_id=alma.project_id, embedding_provider="hash") as elsewhere:
        assert elsewhere != alma


def test_closing_one_project_closes_the_store(alma: ALMA) -> None:
    alma.for_project("other").close()
    with pytest.raises(StorageError, match="was closed"):
        alma.retrieve(task="t", agent="a")


def test_auto_takes_the_embedder_that_the_database_was_made_with(open_store: OpenStore) -> None:
    open_store(embedding_provider="mock", embedding_dim=64).learn(agent="a", task="t", outcome=True)
    alma = open_store(embedding_provider="auto")
    assert alma.get_stats().embedder == "hash"
    assert alma.retrieve("t", "a").total_items == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"embedding_provider": "minilm"}, id="another model"),
        pytest.param({"embedding_provider": "hash", "embedding_dim": 64}, id="another dimension"),
        pytest.param({"embedding_provider": "auto", "embedding_dim": 64}, id="auto with another dimension"),
        pytest.param({"embedding_provider": HashEmbedder(64)}, id="another object"),
    ],
)
def test_opening_with_another_embedder_names_alma_reindex_and_changes_nothing(
    open_store: OpenStore, other: dict[str, object]
) -> None:
    alma = open_store()
    alma.learn(agent="a", task="t", outcome="success")
    before = held(alma)
    with pytest.raises(EmbedderMismatchError, match="alma reindex"):
        open_store(**other)
    assert held(alma) == before


def test_making_a_database_says_which_embedder_it_has(open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        open_store()
    assert "hash (384 dimensions)" in caplog.text


def test_agents_rules_may_be_given_as_values_or_as_mappings(open_store: OpenStore) -> None:
    alma = open_store(agents={"a": MemoryScope(can_learn=("x",)), "b": {"share_with": ["a"]}})
    assert alma.agents == {
        "a": MemoryScope(agent_name="a", can_learn=("x",)),
        "b": MemoryScope(agent_name="b", share_with=("a",)),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agents": {"a": {"can_lern": ["x"]}}}, "agents.a.can_lern"),
        ({"agents": {"a": {"min_occurrences_for_heuristic": 0}}}, "agents.a.min_occurrences_for_heuristic"),
        ({"agents": {"a": None}}, "agents.a"),
        ({"agents": ["a"]}, "agents must be"),
        ({"agents": 5}, "agents must be"),
        ({"embedding_provider": "word2vec"}, "word2vec"),
        ({"embedding_provider": None}, "embedding_provider must be"),
        ({"embedding_provider": 5}, "embedding_provider must be"),
        ({"embedding_provider": HashEmbedder(64), "embedding_dim": 384}, "64 dimensions"),
        ({"embedding_dim": -1}, "-1"),
        ({"embedding_dim": 0}, "not 0"),
        ({"embedding_dim": "384"}, "embedding_dim must be"),
        ({"embedding_dim": 384.5}, "embedding_dim must be"),
        ({"embedding_dim": True}, "embedding_dim must be"),
        ({"storage": "mongo"}, "unknown 'mongo'; there is sqlite, file"),
        ({"storage": "sqllite"}, "did you mean 'sqlite'"),
        ({"storage": "pinecone"}, "comes with the package alma-pinecone"),
        ({"db_name": 5}, "db_name must be"),
        ({"db_name": None}, "db_name must be"),
        ({"db_name": ""}, "db_name is empty"),
        ({"db_name": "../outside.db"}, "plain file name"),
        ({"db_name": "a/b.db"}, "plain file name"),
        ({"db_name": "..\\outside.db"}, "plain file name"),
        ({"db_name": "/var/outside.db"}, "plain file name"),
        ({"db_name": "file:x?mode=memory"}, "plain file name"),
        ({"db_name": ":memory:"}, "plain file name"),
        ({"db_name": "."}, "plain file name"),
        ({"db_name": "a\x00.db"}, "control character"),
        ({"db_name": "a\n.db"}, "control character"),
        ({"db_name": "\ud800.db"}, "surrogate"),
        ({"db_name": " alma.db"}, "space"),
        ({"db_name": "x" * 300}, "longer than"),
    ],
)
def test_what_no_store_can_be_opened_with_is_a_configuration_error(
    tmp_path: Path, given: dict[str, object], message: str
) -> None:
    settings: dict[str, object] = {"project_id": "shop", "embedding_provider": "hash", **given}
    with pytest.raises(ConfigurationError, match=message):
        ALMA.open(tmp_path / "store", **settings)  # type: ignore[arg-type]
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("folder", ["", "   ", "a\x00b", "a\nb", "\ud800", "../outside", "a/../../outside", 5, None, b"bytes"])
def test_what_can_be_no_folder_is_a_configuration_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: object) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ConfigurationError, match="storage_dir"):
        ALMA.open(folder, project_id="shop", embedding_provider="hash")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_a_file_where_the_folder_should_be_is_an_error_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigurationError, match="is a file"):
            ALMA.open(folder, project_id="shop", embedding_provider="hash")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_may_not_be_entered_is_a_storage_error(tmp_path: Path, mocker: MockerFixture) -> None:
    look, database = os.stat, tmp_path / "alma.db"

    def closed(path: object, *given: Any, **named: Any) -> os.stat_result:
        if path in (database, str(database)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return look(path, *given, **named)  # type: ignore[arg-type]

    mocker.patch("os.stat", closed)
    with pytest.raises(StorageError, match="cannot be used: Permission denied"):
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash")


@pytest.mark.not_on("file", "postgres", reason="lists the folder of SQLite's file")
def test_where_the_folder_cannot_be_listed_only_what_has_to_list_it_fails(alma: ALMA, mocker: MockerFixture) -> None:
    """Say for want of descriptors, or of the right to read it."""
    alma.learn("helena", "Test the login form", "success")
    mocker.patch("os.scandir", side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    mocker.patch("os.listdir", side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    with refused(alma, StorageError, "cannot be read: Too many open files"):
        alma.compact()
    assert alma.for_project("lab").learn("helena", "Mix two liquids", "success").project_id == "lab"


@pytest.mark.parametrize("content", [b"", b"not a database at all", b"SQLite format 3\x00", b"\x00" * 5000])
def test_a_foreign_file_under_the_name_of_the_database_is_an_error_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "alma.db").write_bytes(content)
    with pytest.raises(CorruptStoreError, match=r"alma\.db"):
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash")
    assert (tmp_path / "alma.db").read_bytes() == content


def test_a_folder_under_the_name_of_the_database_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "alma.db").mkdir()
    with pytest.raises(StorageError, match=r"alma\.db"):
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash")


def test_the_text_of_an_alma_names_its_project_and_its_folder(alma: ALMA, tmp_path: Path) -> None:
    assert repr(alma).startswith(f"<ALMA project 'shop' in {tmp_path / 'store'}")
