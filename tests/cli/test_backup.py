"""`alma backup` copies the store into one file, which restores it when it is put in the place of the database."""

import shutil
from pathlib import Path

import pytest

DATABASE = Path(".alma", "alma.db")


@pytest.fixture
def memory(project) -> str:
    return project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success", "--json").json["id"]


def test_what_was_backed_up_is_back_when_it_is_put_in_place(project, memory: str) -> None:
    told = project("backup", "monday.db").out
    assert told.startswith("Backed up ")
    assert told.endswith("to monday.db: shop up to record 1\n")
    project("learn", "-a", "helena", "-t", "Forget me", "-o", "failure")

    shutil.move("monday.db", DATABASE)
    assert project("verify").out == "no problem in 1 journal record and 1 memory\n"
    assert [found["id"] for found in project("list", "--json").json["memories"]] == [memory]


def test_its_report_is_json_on_request(project, memory: str) -> None:
    found = project("backup", "copy.db", "--json").json

    assert found["heads"] == {"shop": 1}
    assert len(found["content_hashes"]["shop"]) == 64
    assert found["bytes"] == Path("copy.db").stat().st_size == 4096 * found["pages"]


def test_an_existing_file_is_replaced_with_force_only(project, memory: str) -> None:
    Path("copy.db").write_text("mine")
    assert "exists already" in project("backup", "copy.db", code=2).err
    assert Path("copy.db").read_text() == "mine"
    project("backup", "copy.db", "--force")
    assert Path("copy.db").stat().st_size > 4096


@pytest.mark.parametrize("file", [str(DATABASE), ".alma/alma.db-wal", ".alma/config.yaml"])
def test_the_store_itself_is_never_written_over(project, memory: str, file: str) -> None:
    before = project("stats", "--json").json, Path(".alma/config.yaml").read_text()
    assert project("backup", file, "--force", code=2).err.startswith("alma: ")
    assert project("verify").code == 0
    assert (project("stats", "--json").json, Path(".alma/config.yaml").read_text()) == before


def test_a_folder_that_is_not_there_is_a_storage_error(project, memory: str) -> None:
    assert "missing/copy.db cannot be written" in project("backup", "missing/copy.db", code=3).err
