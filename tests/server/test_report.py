"""`alma report`: the page of the explorer as one file."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA
from mcp_servers import make_project

Report = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ALMA.from_config(make_project(tmp_path)) as alma:
        alma.learn("helena", "Test the login form", "success", "Empty fields first")
    return tmp_path


@pytest.fixture
def report(folder: Path) -> Report:
    def run(*arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "alma", "report", "-c", str(folder / ".alma" / "config.yaml"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_a_page_is_written_for_its_owner_alone_and_its_place_told(report: Report, folder: Path) -> None:
    page = folder / "alma-report.html"
    assert report().stdout.startswith(f"Wrote {page} (")
    assert "Test the login form" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o777 == 0o600


def test_the_page_can_go_to_standard_output(report: Report, folder: Path) -> None:
    told = report("--output", "-").stdout
    assert told.startswith("<!doctype html>\n")
    assert told.endswith("</html>\n")
    assert "Test the login form" in told
    assert not (folder / "alma-report.html").exists()


def test_a_reader_that_has_seen_enough_is_no_traceback(report: Report, folder: Path) -> None:
    command = f"set -o pipefail; {sys.executable} -m alma report -c .alma/config.yaml -o - | head -c 20"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=folder)
    assert (done.stdout, done.stderr) == ("<!doctype html>\n<htm", "")


def test_json_tells_the_place_and_the_figures(report: Report, folder: Path) -> None:
    told = json.loads(report("-o", "page.html", "--json").stdout)
    assert told["file"] == str(folder / "page.html")
    assert told["overview"]["stats"]["by_kind"] == {"outcome": 1}
    assert (folder / "page.html").exists()


def test_a_report_is_written_over_and_anything_else_only_by_force(report: Report, folder: Path) -> None:
    page = folder / "page.html"
    page.write_text("<!doctype html>\nmine", encoding="utf-8")
    assert "exists already; use --force" in report("-o", "page.html", code=2).stderr
    assert page.read_text(encoding="utf-8") == "<!doctype html>\nmine"

    report("-o", "page.html", "--force")
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        alma.learn("helena", "Test the aardvark", "success")
    report("-o", "page.html")
    assert "aardvark" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_neither_a_link_nor_a_file_of_the_store_is_written(report: Report, folder: Path, force: tuple[str, ...]) -> None:
    report("-o", "real.html")
    (folder / "page.html").symlink_to(folder / "real.html")
    before = (folder / "real.html").read_bytes()
    for name in ("page.html", ".alma/alma.db", ".alma/config.yaml", "no/such/folder/page.html"):
        assert report("-o", name, *force, code=3 if "such" in name else 2).stderr.startswith("alma: ")
    assert (folder / "page.html").is_symlink()
    assert (folder / "real.html").read_bytes() == before


def test_a_report_is_left_alone_where_there_is_no_store(report: Report, folder: Path) -> None:
    report("-o", "page.html")
    before = (folder / "page.html").read_bytes()
    shutil.rmtree(folder / ".alma")
    (folder / "shop.yaml").write_text("project_id: shop\nembedding_provider: hash\n", encoding="utf-8")
    assert "there is no memory" in report("-o", "page.html", "--config", "shop.yaml", code=3).stderr
    assert (folder / "page.html").read_bytes() == before
