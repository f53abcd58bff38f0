"""What people do in the explorer, in a real browser against a real server: by mouse and by keyboard alone, in light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma_server.sessions import Sessions
from api_calls import public_names
from browser import Browser
from explored_store import Explored, explored

HERE = Path(__file__).parent
FLOWS = re.findall(r'^  "(.+)": async', (HERE / "flows.mjs").read_text("utf-8"), re.M)
RUN = "async (at, given) => (await import(given.module)).flow(at, given)"
HANDS = {"mouse": "light", "keyboard": "dark"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    with public_names(), explored(tmp_path_factory.mktemp("explored")) as server:
        yield server


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("hand", HANDS)
def test_a_person_gets_done(browser: Browser, server: Explored, flow: str, hand: str) -> None:
    seen = browser.run(
        RUN,
        {"colorScheme": HANDS[hand], "viewport": {"width": 1280, "height": 900}},
        module=(HERE / "person.mjs").as_uri(),
        address=server.address,
        token=server.token,
        hand=hand,
        flow=flow,
        code=Sessions(server.served.tokens).make_code(),
    )
    assert not seen.violations
    assert not seen.errors
    assert all(address.startswith((server.address, "data:")) for address in seen.requests), seen.requests
