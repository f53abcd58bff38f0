"""A memory, a receiver on loopback, and a manager whose endpoints may be there."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma_events.webhooks import Endpoint, WebhookConfig, WebhookManager
from webhook_receiver import Receiver, receiving

Added = Callable[..., Endpoint]


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as opened:
        yield opened


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def manager(alma: ALMA) -> Iterator[WebhookManager]:
    made = WebhookManager(alma)
    yield made
    made.stop()


@pytest.fixture
def add(manager: WebhookManager, receiver: Receiver) -> Added:
    """Adds the receiver on loopback, with settings of the test."""

    def add(**settings: Any) -> Endpoint:
        how = {name: settings.pop(name) for name in ("access", "owner", "since") if name in settings}
        url = settings.pop("url", receiver.url)
        added: Endpoint = manager.add_webhook(
            WebhookConfig(url, **{"events": ["memory.created"], "allow_http": True, "allow": ["127.0.0.1"], **settings}), **how
        )
        return added

    return add


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Waits until something is so, and fails after half a minute."""

    def wait_until(is_so: Callable[[], object], *, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)

    return wait_until
