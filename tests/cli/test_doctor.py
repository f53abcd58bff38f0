"""`alma doctor` finds what is wrong, and says so loudly."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alma import ALMA
from alma.embedding import create_embedder
from alma.errors import ConfigurationError
from alma.storage.sqlite import database
from alma.types.identity import Fingerprint
from alma_cli import checks
from alma_cli.checks import CheckFailedError, check_ownership, judge_embedder, judge_meanings

CONFIG = Path(".alma", "config.yaml")


def statuses(found: Mapping[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in found["checks"]}


def detail(found: Mapping[str, Any], name: str) -> str:
    return next(str(check["detail"]) for check in found["checks"] if check["name"] == name)


class Broken:
    """An embedder that gives the vectors it was told to."""

    def __init__(self, *rows: tuple[float, ...]) -> None:
        self.rows = rows

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(model="broken", revision="1", dimension=2, precision="float32", token_limit=0, preparation="none")

    def embed(self, texts: object, /) -> Any:
        return np.array(self.rows, dtype=np.float32)


def test_all_is_well_in_an_initialised_project(project) -> None:
    found = project("doctor", "--json").json

    assert found["ok"] is True
    assert found["failed"] == []
    assert {name for name, status in statuses(found).items() if status == "ok"} == {
        *(
            "ALMA",
            "import alma",
            "Python",
            "SQLite",
            "embedder",
            "other words",
            "round trip",
            "configuration",
            "storage",
            "database",
        )
    }
    assert "like texts" in detail(found, "embedder")


def test_it_works_before_anything_is_initialised_and_makes_nothing(alma, folder: Path) -> None:
    found = alma("doctor", "--json").json

    assert "`alma init`" in detail(found, "configuration")
    assert list(folder.iterdir()) == []


def test_people_get_a_table_and_a_verdict(project) -> None:
    told = project("doctor").out
    assert "round trip" in told
    assert told.rstrip().endswith("All is well")


def test_a_named_configuration_that_is_not_there_is_a_failure(alma) -> None:
    assert alma("doctor", "-c", "nowhere.yaml", "--json", code=1).json["failed"] == ["configuration"]


def test_a_broken_configuration_is_a_failure_and_the_other_checks_still_run(project) -> None:
    CONFIG.write_text("alma: {projectid: shop}")
    found = project("doctor", "--json", code=1).json

    assert found["failed"] == ["configuration"]
    assert "did you mean 'project_id'?" in detail(found, "configuration")
    assert statuses(found)["round trip"] == "ok"


def test_a_damaged_database_is_a_failure(project, folder: Path) -> None:
    (folder / ".alma" / "alma.db").write_bytes(b"garbage" * 100)
    for leftover in (folder / ".alma").glob("alma.db-*"):
        leftover.unlink()
    ended = project("doctor", code=1)

    assert "FAILED: database" in ended.out
    assert "All is well" not in ended.out


def test_a_database_of_another_embedder_is_a_failure(project) -> None:
    CONFIG.write_text(CONFIG.read_text().replace('"hash"', '"minilm"'))
    found = project("doctor", "--json", code=None).json

    assert "database" in found["failed"]
    assert "reindex" in detail(found, "database") or "install" in detail(found, "database")


def test_a_storage_folder_that_is_not_made_yet_is_no_failure(alma, folder: Path) -> None:
    CONFIG.parent.mkdir()
    CONFIG.write_text("project_id: shop\nembedding_provider: hash\nstorage_dir: later")
    found = alma("doctor", "--json").json

    assert "will be made" in detail(found, "storage")
    assert statuses(found)["database"] == "info"
    assert not (folder / "later").exists()


def test_another_package_that_owns_import_alma_is_told_loudly(project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "alma_memory-0.11.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alma-memory\nVersion: 0.11.0\n")
    (info / "top_level.txt").write_text("alma\n")
    monkeypatch.syspath_prepend(str(info.parent))

    ended = project("doctor", code=1)

    assert "alma-memory also installs a package `alma`" in ended.out
    assert "FAILED: import alma" in ended.out


def test_alma_alone_owns_its_name() -> None:
    assert check_ownership() == "belongs to alma-core alone"


def test_an_embedder_that_knows_near_from_far_passes() -> None:
    assert "hash" in judge_embedder(create_embedder("hash"), "hash")


@pytest.mark.parametrize(
    ("name", "found"), [("minilm", "all-MiniLM-L6-v2 separates meanings"), ("hash", "hash does not separate meanings")]
)
def test_it_says_whether_the_embedder_separates_meanings(name: str, found: str) -> None:
    assert judge_meanings(create_embedder(name)).startswith(found)


@pytest.mark.parametrize(
    ("embedder", "told"),
    [
        (Broken((1, 0), (1, 0)), "of shape"),
        (Broken((1, 0), (float("nan"), 0), (0, 1)), "not finite"),
        (Broken((3, 0), (3, 0), (0, 3)), "which should be 1"),
        (Broken((1, 0), (0, 1), (1, 0)), "its model is damaged"),
    ],
)
def test_an_embedder_without_sense_is_refused(embedder: Broken, told: str) -> None:
    with pytest.raises(CheckFailedError, match=told):
        judge_embedder(embedder, "broken")


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST_PYTHON", (99, 0))
    with pytest.raises(CheckFailedError, match="too old"):
        checks.check_python()


def test_an_old_sqlite_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(ConfigurationError, match=r"too old; ALMA needs 99\.0 or newer"):
        checks.check_sqlite()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.os, "access", lambda path, mode: False)
    with pytest.raises(CheckFailedError, match="does not exist and cannot be made"):
        checks.check_storage(tmp_path / "a" / "b")


def test_a_full_or_read_only_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checks.tempfile, "TemporaryFile", refuse)
    with pytest.raises(CheckFailedError, match="No space left on device"):
        checks.check_storage(tmp_path)


def test_a_database_that_does_not_verify_is_a_failure(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy", "-o", "success", "-s", "by hand")
    with closing(sqlite3.connect(Path(".alma", "alma.db"), isolation_level=None)) as connection:
        connection.execute("DELETE FROM journal")
    found = project("doctor", "--json", code=1).json

    assert found["failed"] == ["database"]
    assert "the first: shop" in detail(found, "database")


def test_the_files_of_a_file_store_are_verified(project) -> None:
    CONFIG.write_text("alma: {project_id: shop, storage: file, embedding_provider: hash}\n", encoding="utf-8")
    assert "alma.files is not made yet" in detail(project("doctor", "--json").json, "database")
    with ALMA.from_config(CONFIG) as alma:
        alma.learn("helena", "Test the login form", "success")
    assert "alma.files: 1 memory" in detail(project("doctor", "--json").json, "database")
