"""`alma serve` delivers webhooks."""

from pathlib import Path

import pytest

from api_processes import serving
from webhook_receiver import receiving

pytestmark = pytest.mark.slow

LEARNED = {"agent": "helena", "task": "Deploy", "outcome": "success", "strategy_used": "slowly"}


def test_receivers_of_the_configuration_get_what_clients_store(tmp_path: Path) -> None:
    with receiving() as receiver:
        webhooks = f"  webhooks: [{{url: '{receiver.url}', events: [memory.created], allow_http: true, allow: ['127.0.0.1']}}]\n"
        with serving(tmp_path, "--workers", "2", config=webhooks) as server, server.client() as client:
            stored = client.post("/v1/projects/shop/learn", json=LEARNED).json()["id"]
            got = receiver.wait_for(1)
            assert server.stop()[1] == ""
    assert [each.event["memory_id"] for each in got] == [stored]
