"""What every view of the explorer has to be, with memories and without, in light and dark."""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import alma_server
from api_calls import public_names
from browser import Browser, Seen
from explored_store import HIDDEN, SUSPICIOUS, Explored, explored

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STATIC = Path(alma_server.__file__).parent / "static"
SOURCES = ROOT / "packages" / "alma-server" / "ui"
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|srcdoc|document\.write|createContextualFragment|\beval\(|new Function|_blank|style=|cssText"
    r"|set(?:Timeout|Interval)\(\s*[\"'`]|import\(|https?://(?!127\.0\.0\.1\"|example\.com/hook)"
)


@pytest.fixture(scope="module", params=["filled", "empty"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    with public_names(), explored(tmp_path_factory.mktemp("explored"), is_empty=request.param == "empty") as server:
        yield server


def visit(browser: Browser, server: Explored, what: str, options: dict[str, Any] | None = None, **given: Any) -> Seen:
    return browser.run(
        f"async (at, given) => (await import(given.module)).{what}(at, given)",
        options,
        module=(HERE / "looks.mjs").as_uri(),
        address=server.address,
        token=server.token,
        hand="mouse",
        **given,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_assistive_technology_finds_no_fault(browser: Browser, server: Explored, theme: str, width: int) -> None:
    options = {"colorScheme": theme, "viewport": {"width": width, "height": 900}, "bypassCSP": True}
    assert visit(browser, server, "faults", options).result == {}


def test_no_view_scrolls_sideways(browser: Browser, server: Explored) -> None:
    assert visit(browser, server, "tooWide").result == {}


def test_no_view_asks_another_origin_or_breaks_its_policy(browser: Browser, server: Explored) -> None:
    seen = visit(browser, server, "texts")
    assert not seen.violations
    assert not seen.errors
    assert all(address.startswith((f"{server.address}/", "data:")) for address in seen.requests)


def test_characters_that_mislead_are_marked(browser: Browser, tmp_path: Path) -> None:
    with explored(tmp_path) as server:
        shown = visit(browser, server, "texts").result
    everything = "".join(shown.values())
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f") & set(everything)
    assert HIDDEN.replace("\u202e", "⟪U+202E⟫").replace("\u202c", "⟪U+202C⟫").replace("\u200b", "⟪U+200B⟫") in shown["memories"]


def test_a_suspicious_text_is_shown_only_when_asked_for(browser: Browser, tmp_path: Path) -> None:
    with explored(tmp_path) as server:
        shown = visit(browser, server, "texts").result
    assert "In quarantine" in shown["quarantine"]
    assert SUSPICIOUS not in "".join(shown.values())


def test_the_first_view_is_small() -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes(), mtime=0)) for path in STATIC.iterdir()}
    assert {re.sub("-[0-9a-f]{12}", "", name) for name in sizes} == {"index.html", "explorer.css", "explorer.js"}
    assert sum(sizes.values()) <= 120_000
    assert sum(path.stat().st_size for path in STATIC.iterdir()) <= 250_000


@pytest.mark.parametrize("path", sorted([*SOURCES.glob("src/**/*.ts*"), SOURCES / "index.html"]), ids=lambda path: path.name)
def test_sources_make_no_markup_of_text(path: Path) -> None:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    assert [
        f"{number}: {line.strip()}" for number, line in lines if FORBIDDEN.search(line.replace("http://www.w3.org/2000/svg", ""))
    ] == []


@pytest.mark.skipif("ALMA_PICTURES" not in os.environ, reason="pictures of the guide are made when ALMA_PICTURES is set")
def test_pictures_of_the_guide_are_made(browser: Browser, tmp_path: Path) -> None:
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    with explored(tmp_path) as server:
        visit(
            browser, server, "pictures", {"viewport": {"width": 1040, "height": 680}, "colorScheme": "light"}, folder=str(folder)
        )
    assert len(list(folder.glob("explorer_*.png"))) == 7
