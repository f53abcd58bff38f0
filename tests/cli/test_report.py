"""Files that `alma export` must not write, and `alma report` without the page."""

from pathlib import Path

import pytest

LEARN = ("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "Empty fields first")


@pytest.mark.parametrize("name", ["alma.db", "alma.db-wal", "alma.db-shm", "config.yaml", "x.index"])
def test_no_file_of_the_store_is_written_over_by_force_either(project, folder: Path, name: str) -> None:
    project(*LEARN)
    before = {path.name: path.read_bytes() for path in (folder / ".alma").iterdir()}
    ended = project("export", f".alma/{name}", "--force", code=2)

    assert "name another file" in ended.err
    assert {path.name: path.read_bytes() for path in (folder / ".alma").iterdir()} == before


def test_other_names_of_the_database_and_other_databases_are_refused_too(project, folder: Path) -> None:
    (folder / "linked").symlink_to(folder / ".alma" / "alma.db")
    (folder / "hard").hardlink_to(folder / ".alma" / "alma.db")
    project("init", "--embedder", "hash", "--config", "other/.alma/config.yaml")

    for name in ("linked", "hard", "other/.alma/alma.db"):
        project("export", name, "--force", code=2)
    assert (folder / "linked").is_symlink()
    assert project("stats", "--json", "--config", "other/.alma/config.yaml").json["total"] == 0


def test_a_configuration_elsewhere_is_refused_too(project, folder: Path) -> None:
    project("init", "--embedder", "hash", "--config", "settings.yaml", "--force")
    ended = project("export", "settings.yaml", "--force", "--config", "settings.yaml", code=2)
    assert "is the configuration" in ended.err


def test_json_tells_the_figures_without_a_page(project) -> None:
    project(*LEARN)
    told = project("report", "-o", "-", "--json").json

    assert told["file"] is None
    assert told["overview"]["stats"]["by_kind"] == {"outcome": 1}


@pytest.mark.parametrize("arguments", [("--top", "0"), ("--recent", "5000")])
def test_figures_that_cannot_be_given_are_told(project, arguments: tuple[str, ...]) -> None:
    ended = project("report", "-o", "-", "--json", *arguments, code=2)

    assert ended.json["error"]["type"] == "ValidationError"


def test_where_the_page_is_not_installed_the_report_says_what_brings_it(project, folder: Path, mocker) -> None:
    mocker.patch("alma_cli.pages.find_spec", return_value=None)
    for arguments in ((), ("-o", "-"), ("-o", "page.html", "--json")):
        assert "alma-core[server]" in project("report", *arguments, code=None).err
    assert list(folder.glob("*.html")) == []
