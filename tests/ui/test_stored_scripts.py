"""Texts that are scripts to a careless page, in every field of every kind, in names, errors and addresses: in a real browser all of it stays text."""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from alma import ALMA, ValidationError
from alma_access import Access, TokenFile
from alma_server.sessions import Sessions
from api_processes import Server, started
from browser import Browser, Seen
from hostile_texts import TEXTS, fill, make_tokens
from mcp_servers import make_project

KINDS = ("outcome", "domain_knowledge", "user_preference", "anti_pattern", "heuristic", "conversation", "note")

SCRIPT = next(text for text in TEXTS if "window.pwned=1" in text)

LOOK = """async ({ page }, { open, places }) => {
    await page.goto(open);
    await page.waitForSelector("main");
    const shown = {};
    for (const place of places) {
        await page.evaluate((place) => { location.hash = place; }, place);
        await page.waitForFunction(() => {
            const main = document.querySelector("main");
            return main?.innerText.trim() && !main.querySelector(".skeleton");
        });
        shown[place] = await page.evaluate(() => {
            for (const folded of document.querySelectorAll("main details")) folded.open = true;
            return document.querySelector("main").innerText;
        });
    }
    return shown;
}"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[list[str]]]]:
    folder = tmp_path_factory.mktemp("hostile")
    config = make_project(folder)
    made = fill(config)
    relate(config)
    leave_open(config)
    make_tokens(folder / ".alma")
    token = TokenFile(folder / ".alma").add("all", Access())
    with started(folder, token) as server:
        yield server, made


def relate(config: Path) -> None:
    """States a relation from each text to the next one, as far as they can be names."""
    with ALMA.from_config(config) as alma:
        for source, target in pairwise(TEXTS):
            with suppress(ValidationError):
                alma.graph.relate(source, "says", target, agent="helena")


def leave_open(config: Path) -> None:
    """Leaves a pair open of which a person has to judge whether both say the same."""
    with ALMA.from_config(config) as alma:
        for text in ("The mobile app talks to the gateway over gRPC.", "The mobile app reaches the gateway by gRPC."):
            alma.add_domain_knowledge("noor", "apps", f"{text} {SCRIPT}")
        alma.consolidate("noor", threshold=0.3, dry_run=False)


def look(browser: Browser, server: Server, places: list[str], *, theme: str = "light") -> dict[str, str]:
    """Opens the page by a code, goes to the places, and returns the text of each, after a look that nothing but the page ran."""
    code = Sessions(TokenFile(Path(server.folder, ".alma"))).make_code()
    seen = browser.run(LOOK, {"colorScheme": theme}, open=f"{server.address}/ui/#code={code}", places=places)
    check_inert(seen, server)
    return dict(seen.result)


def check_inert(seen: Seen, server: Server) -> None:
    assert seen.pwned == []
    assert seen.violations == []
    assert seen.dialogs == []
    assert seen.errors == []
    foreign = [address for address in seen.requests if not address.startswith((f"{server.address}/", "data:image/"))]
    assert foreign == []


def test_lists_of_every_kind_show_them_as_text(browser: Browser, hostile: tuple[Server, list[list[str]]]) -> None:
    server, _ = hostile
    places = [f"#/memories?{urlencode({'kind': kind})}" for kind in KINDS]
    shown = look(browser, server, places)
    for place in places:
        assert shown[place].count("window.pwned=1") > 20, place


@pytest.mark.parametrize("part", range(4))
def test_each_is_text_in_its_memory(browser: Browser, hostile: tuple[Server, list[list[str]]], part: int) -> None:
    server, made = hostile
    rows = list(zip(TEXTS, made, strict=True))[part::4]
    places = {f"#/memory/{ids[number % len(ids)]}": text for number, (text, ids) in enumerate(rows)}
    shown = look(browser, server, list(places))
    for place, text in places.items():
        assert _plain(text)[:20] in _plain(shown[place]), text


def test_views_over_all_of_them_show_text(browser: Browser, hostile: tuple[Server, list[list[str]]]) -> None:
    server, made = hostile
    task = {"agent": "helena", "q": TEXTS[0], "task": TEXTS[0]}
    scoped = urlencode({"agent": TEXTS[0], "user": TEXTS[0]})
    places = [
        *(f"#/{view}?agent=helena" for view in ("search", "strategies", "review", "timeline", "journal", "live", "service")),
        *(f"#/{view}?{scoped}" for view in ("search", "memories", "strategies", "review", "timeline", "journal")),
        "#/journal?at=9",
        *(f"#/{view}?{urlencode(task)}" for view in ("search", "strategies")),
        *(f"#/graph/{each}" for ids in made[::16] for each in ids),
    ]
    shown = look(browser, server, places, theme="dark")
    assert "window.pwned=1" in shown["#/strategies?agent=helena"]
    assert "window.pwned=1" in shown["#/review?agent=helena"]
    assert TEXTS[0] in shown["#/journal?at=9"]


def test_entities_that_are_named_so_show_text(browser: Browser, hostile: tuple[Server, list[list[str]]]) -> None:
    server, _ = hostile
    entity = f"#/entities/{quote(SCRIPT, safe='')}"
    query = urlencode({"q": SCRIPT, "as_of": SCRIPT, "agent": "helena"})
    shown = look(browser, server, ["#/entities", f"#/entities?{query}", entity, f"{entity}?{query}"])
    assert shown["#/entities"].count("window.pwned=1") > 20
    assert all(_plain(SCRIPT)[:20] in _plain(text) for text in shown.values())
    assert "says" in shown[entity]


def test_a_pair_to_judge_shows_text(browser: Browser, hostile: tuple[Server, list[list[str]]]) -> None:
    server, _ = hostile
    place = "#/review?agent=noor"
    assert _plain(look(browser, server, [place])[place]).count(_plain(SCRIPT)[:-1]) == 2


def test_addresses_that_name_them_show_text(browser: Browser, hostile: tuple[Server, list[list[str]]]) -> None:
    server, _ = hostile
    some = TEXTS[::6]
    places = [
        *(f"#/memory/{quote(text, safe='')}" for text in some),
        *(f"#/search?{urlencode({'q': text, 'agent': 'helena', 'why': text})}" for text in some),
        *(f"#/strategies?{urlencode({'task': text, 'action': text, 'agent': 'helena'})}" for text in some[:4]),
        *(f"#/memories?{urlencode({'kind': text, 'project': text, 'user': text})}" for text in some[:4]),
        *(f"#/{quote(text, safe='')}/{quote(text, safe='')}" for text in some[:4]),
    ]
    assert len(look(browser, server, places)) == len(places)


def _plain(text: str) -> str:
    """A text without white space, which a page shows as it likes."""
    return json.dumps("".join(text.split()))[1:]
