"""The page in a real browser, without any network: nothing runs, nothing is loaded, and it shows what it should, light and dark.

Needs Chromium (the package `chromium` of Debian and Ubuntu); the nox session `report` brings it.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma_cli.report import html_report
from drawn import STYLE
from png import Colour, Picture, columns_of, read_png
from report_samples import filled

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1100,1000"),
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here; `nox -s report` installs it")

Browse = Callable[..., str]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("report")
    with filled(folder / "store") as alma:
        path = folder / "page.html"
        path.write_text(html_report(alma.overview(top=100)), encoding="utf-8")
    return path


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Runs the browser with a fresh profile, and gives what it printed."""

    def run(path: Path, *flags: str) -> str:
        command = [str(BROWSER), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, path.as_uri()]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


@pytest.fixture
def screenshot(browse: Browse, tmp_path: Path) -> Callable[..., Picture]:
    def take(path: Path, *flags: str) -> Picture:
        browse(path, f"--screenshot={tmp_path / 'shot.png'}", *flags)
        return read_png(tmp_path / "shot.png")

    return take


def styled(colour: str, *, dark: bool) -> Colour:
    """The value of a variable of the style sheet."""
    values = re.findall(rf"{colour}: #(\w\w)(\w\w)(\w\w)", STYLE)
    red, green, blue = (int(part, 16) for part in values[dark])
    return red, green, blue


def test_nothing_stored_has_become_an_element_or_has_run(page: Path, browse: Browse) -> None:
    dom = browse(page, "--dump-dom")

    assert "<title>ALMA: &lt;u&gt;shop&lt;/u&gt;</title>" in dom
    for forbidden in ("<script", "<img", "<a ", "<link", "<iframe", " onerror", " onload", " onmouseover", " href=", " src="):
        assert forbidden not in re.sub(r">[^<]*<", "><", dom), forbidden


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_chart_is_drawn_in_the_colours_of_the_kinds(page: Path, screenshot: Callable[..., Picture], dark: bool) -> None:
    shown = screenshot(page, f"--blink-settings=preferredColorScheme={0 if dark else 1}")

    assert (shown.width, shown.height) == (1100, 1000)
    assert shown.at(2, 2) == styled("--page", dark=dark)
    assert columns_of(shown, styled("--c3", dark=dark)) == 9, "one for each week"
    for colour in ("--c1", "--c2", "--c4", "--c5"):
        assert shown.colours[styled(colour, dark=dark)] > 500, colour


@pytest.mark.parametrize("width", [360, 500])
def test_the_page_is_as_wide_as_the_window_and_its_charts_are_whole(
    page: Path, screenshot: Callable[..., Picture], width: int
) -> None:
    shown = screenshot(page, "--blink-settings=preferredColorScheme=1", f"--window-size={width},2000")

    assert (shown.width, columns_of(shown, styled("--c3", dark=False))) == (width, 9), "one column for each week"
    edge = {shown.at(width - 4, y) for y in range(0, 2000, 5)}
    assert edge == {styled("--page", dark=False)}, "nothing stands over the edge"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_works_and_what_fails_is_drawn_in_its_colour(tmp_path: Path, screenshot: Callable[..., Picture], dark: bool) -> None:
    path = tmp_path / "learned.html"
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        for outcome, strategy in (("success", "blue-green deployment"), ("failure", "rolling update")) * 6:
            alma.learn("victor", "Deploy the auth service", outcome, strategy)
        path.write_text(html_report(alma.overview(verify=False)), encoding="utf-8")
    shown = screenshot(path, f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--window-size=1100,1600")

    for colour in ("--good", "--bad"):
        assert shown.colours[styled(colour, dark=dark)] > 60, f"the dot and the verdict in {colour}"


def test_an_empty_project_is_shown(tmp_path: Path, screenshot: Callable[..., Picture]) -> None:
    with ALMA.open(tmp_path / "store", project_id="new", embedding_provider="hash") as alma:
        path = tmp_path / "empty.html"
        path.write_text(html_report(alma.overview()), encoding="utf-8")

    assert len(screenshot(path).colours) > 20
