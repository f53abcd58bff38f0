"""What `alma doctor` says of webhooks."""

from collections.abc import Iterator
from pathlib import Path

from alma import ALMA
from alma.errors import AlmaError
from alma_events.webhooks.endpoints import ACTIVE, BY_REQUEST, Endpoints

SIDE = "service.db"


def findings(config: Path) -> Iterator[tuple[str, str, str]]:
    """Yields name, status and detail of a check of the endpoints of a configuration's project, if it has any."""
    if not config.is_file():
        return
    try:
        with ALMA.from_config(config, create=False) as alma:
            if not _may_have_endpoints(alma):
                return
            found = [(each, endpoints.counts(each.id)) for endpoints in [Endpoints(alma)] for each in endpoints.listed()]
    except AlmaError:  # the database has a check of its own
        return
    if not found:
        return
    stopped = [f"{each.id} is {each.state}: {each.reason or 'it fails'}" for each, _ in found if each.state != ACTIVE]
    failed = sum(counts.get("failed", 0) for _, counts in found)
    lost = [f"{failed} deliveries failed for good; see `alma webhooks deliveries ID --status failed`"] if failed else []
    is_wrong = any(each.state != ACTIVE and each.reason != BY_REQUEST for each, _ in found)
    told = "; ".join(stopped + lost)
    yield "webhooks", "FAILED" if is_wrong else "info" if told else "ok", told or f"{len(found)} receivers, all active"


def _may_have_endpoints(alma: ALMA) -> bool:
    """Returns whether there is a side database, for the check makes none."""
    file = getattr(alma.storage, "file", "")
    return "://" in file or any(Path(file).parent.glob(f"*{SIDE}"))
