"""`alma serve` delivers webhooks."""

import time
from pathlib import Path

import pytest

from alma import ALMA
from alma_access import TokenFile
from alma_events.webhooks import Endpoints, WebhookConfig
from alma_events.webhooks.endpoints import OF_TOKEN
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


def test_a_receiver_of_a_client_gets_events_as_long_as_its_token_is_valid(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / ".alma")
    with receiving() as receiver, serving(tmp_path) as server, server.client() as client:
        with ALMA.from_config(tmp_path / ".alma" / "config.yaml") as alma:
            receivers = Endpoints(alma)
            config = WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"])
            endpoint = receivers.add(config, owner=f"{OF_TOKEN}{tokens.tokens()['all'].id}").id
            assert client.get(f"/v1/projects/{alma.project_id}/webhooks/{endpoint}").json()["state"] == "active"
            client.post("/v1/projects/shop/learn", json=LEARNED).raise_for_status()
            receiver.wait_for(1)
            tokens.revoke("all")
            alma.learn("helena", "Deploy again", "success", "slowly")
            end = time.monotonic() + 30
            while receivers.get(endpoint).state != "disabled":
                assert time.monotonic() < end
                time.sleep(0.05)
        assert server.stop()[1] == ""
    assert len(receiver.got) == 1
