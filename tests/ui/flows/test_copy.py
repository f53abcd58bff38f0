"""A copy of the explorer that `alma report` writes, read from a disk without a server."""

from pathlib import Path

from alma import ALMA
from alma_server.snapshot import snapshot_page
from browser import Browser
from explored_store import fill

HERE = Path(__file__).parent
RUN = "async (at, given) => (await import(given.module)).copy(at, given)"


def test_a_copy_shows_what_is_stored_and_offers_no_act(browser: Browser, tmp_path: Path) -> None:
    fill(tmp_path / "store")
    page = tmp_path / "page.html"
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        stats = alma.get_stats()
        page.write_bytes(snapshot_page(alma))
    seen = browser.run(RUN, module=(HERE / "looks.mjs").as_uri(), address=page.as_uri())
    assert seen.result["acts"] == []
    assert not seen.errors
    assert not seen.violations
    assert all(address.startswith(("file:", "data:")) for address in seen.requests)
    shown = seen.result["seen"]
    assert "Entities" not in shown["views"]
    assert f"{stats.total} memories" in shown["memories"]
    assert str(stats.by_kind["outcome"]) in shown["search"]
    assert f"{stats.journal_records} records" in shown["journal"]
    assert "Empty fields first" in shown["strategies"]
    assert "not judged" in shown["review"]
    assert "Rate of success" in shown["timeline"]
