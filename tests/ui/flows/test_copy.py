"""A copy of the explorer that `alma ui --export` writes, read from a disk without a server."""

from pathlib import Path

from alma import ALMA
from alma_server.snapshot import snapshot_files
from browser import Browser
from explored_store import fill

HERE = Path(__file__).parent
RUN = "async (at, given) => (await import(given.module)).copy(at, given)"


def test_a_copy_shows_what_is_stored_and_offers_no_act(browser: Browser, tmp_path: Path) -> None:
    fill(tmp_path / "store")
    folder = tmp_path / "page"
    folder.mkdir()
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        stats = alma.get_stats()
        for name, content in snapshot_files(alma).items():
            (folder / name).write_bytes(content)
    seen = browser.run(RUN, module=(HERE / "looks.mjs").as_uri(), address=(folder / "index.html").as_uri())
    assert seen.result["acts"] == []
    assert not seen.errors
    assert not seen.violations
    assert all(address.startswith(("file:", "data:")) for address in seen.requests)
    shown = seen.result["seen"]
    assert f"{stats.total} memories" in shown["memories"]
    assert str(stats.by_kind["outcome"]) in shown["search"]
    assert f"{stats.journal_records} records" in shown["journal"]
    assert "Empty fields first" in shown["strategies"]
    assert "not judged" in shown["review"]
    assert "Rate of success" in shown["timeline"]
