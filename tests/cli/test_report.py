"""`alma report`."""

import os
import shutil
from pathlib import Path

import pytest

LEARN = ("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "Empty fields first")


def test_a_page_is_written_and_its_place_told(project, folder: Path) -> None:
    project(*LEARN)
    told = project("report").out

    assert told.startswith(f"Wrote {folder / 'alma-report.html'} (")
    assert "Test the login form" in (folder / "alma-report.html").read_text(encoding="utf-8")


def test_the_page_can_go_to_standard_output(project, folder: Path) -> None:
    told = project("report", "--output", "-", "--no-verify").out

    assert told.startswith("<!doctype html>\n")
    assert told.endswith("</html>\n")
    assert "not checked" in told
    assert not (folder / "alma-report.html").exists()


def test_json_tells_the_figures(project, folder: Path) -> None:
    project(*LEARN)
    told = project("report", "-o", "page.html", "--json").json

    assert told["file"] == str(folder / "page.html")
    assert told["overview"]["stats"]["by_kind"] == {"outcome": 1}


@pytest.mark.parametrize(
    ("arguments", "code"), [(("-o", "no/such/folder/page.html"), 3), (("--top", "0"), 2), (("--recent", "5000"), 2)]
)
def test_what_cannot_be_done_is_told(project, arguments: tuple[str, ...], code: int) -> None:
    ended = project("report", *arguments, code=code)

    assert ended.err.startswith("alma: ")
    assert ended.out == ""


@pytest.mark.parametrize("name", ["alma.db", "alma.db-wal", "alma.db-shm", "config.yaml", "x.index"])
@pytest.mark.parametrize("command", [("report", "-o"), ("export",)])
def test_no_file_of_the_store_is_written_over_by_force_either(project, folder: Path, command: tuple[str, ...], name: str) -> None:
    project(*LEARN)
    before = {path.name: path.read_bytes() for path in (folder / ".alma").iterdir()}
    ended = project(*command, f".alma/{name}", "--force", code=2)

    assert "name another file" in ended.err
    assert {path.name: path.read_bytes() for path in (folder / ".alma").iterdir()} == before


@pytest.mark.parametrize("command", [("report", "-o"), ("export",)])
def test_other_names_of_the_database_and_other_databases_are_refused_too(project, folder: Path, command: tuple[str, ...]) -> None:
    (folder / "linked").symlink_to(folder / ".alma" / "alma.db")
    (folder / "hard").hardlink_to(folder / ".alma" / "alma.db")
    project("init", "--embedder", "hash", "--config", "other/.alma/config.yaml")

    for name in ("linked", "hard", "other/.alma/alma.db"):
        project(*command, name, "--force", code=2)
    assert (folder / "linked").is_symlink()
    assert project("stats", "--json", "--config", "other/.alma/config.yaml").json["total"] == 0


def test_a_configuration_elsewhere_is_refused_too(project, folder: Path) -> None:
    project("init", "--embedder", "hash", "--config", "settings.yaml", "--force")
    for command in (("report", "-o"), ("export",)):
        ended = project(*command, "settings.yaml", "--force", "--config", "settings.yaml", code=2)
        assert "is the configuration" in ended.err


def test_a_report_is_written_over_and_anything_else_only_by_force(project, folder: Path) -> None:
    page = folder / "page.html"
    page.write_text("<!doctype html>\nmine", encoding="utf-8")
    assert "exists already; use --force" in project("report", "-o", "page.html", code=2).err
    assert page.read_text(encoding="utf-8") == "<!doctype html>\nmine"

    project("report", "-o", "page.html", "--force")
    project(*LEARN)
    project("report", "-o", "page.html")
    assert "Test the login form" in page.read_text(encoding="utf-8")


def test_a_link_is_not_followed(project, folder: Path) -> None:
    project("report", "-o", "real.html")
    (folder / "page.html").symlink_to(folder / "real.html")
    before = (folder / "real.html").read_bytes()
    project(*LEARN)

    project("report", "-o", "page.html", code=2)
    project("report", "-o", "page.html", "--force", code=2)
    assert (folder / "page.html").is_symlink()
    assert (folder / "real.html").read_bytes() == before


def test_a_report_is_left_alone_where_there_is_no_store(project, folder: Path) -> None:
    project("report", "-o", "page.html")
    before = (folder / "page.html").read_bytes()
    shutil.rmtree(folder / ".alma")
    (folder / "shop.yaml").write_text("project_id: shop\nembedding_provider: hash\n", encoding="utf-8")

    assert "there is no memory" in project("report", "-o", "page.html", "--config", "shop.yaml", code=3).err
    assert (folder / "page.html").read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_its_owner_may_read_a_report(project, folder: Path) -> None:
    project("report")
    assert (folder / "alma-report.html").stat().st_mode & 0o777 == 0o600
