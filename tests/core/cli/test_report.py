"""`alma report`."""

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
