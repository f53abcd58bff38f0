"""Receivers of a configuration, of the command line, of encrypted stores, and in memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from typer.testing import CliRunner

from alma import ALMA
from alma.config import load_settings
from alma.encryption import encrypt_store
from alma.errors import ConfigurationError, ValidationError
from alma.events import MemoryEvent, MemoryEventType, WebhookConfig, WebhookManager, get_emitter, reset_emitter
from alma_cli.app import app
from alma_events.webhooks import WebhookDeliveryStatus
from alma_events.webhooks.examining import findings
from webhook_receiver import Receiver, Reply, receiving

Wait = Callable[..., None]
HEAD = "alma:\n  project_id: shop\n  storage: sqlite\n  embedding_provider: hash\n  storage_dir: .alma\n"


def configured(folder: Path, receivers: str) -> Path:
    path = folder / ".alma" / "config.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + receivers, "utf-8")
    return path


def test_the_published_configuration_opens(tmp_path: Path) -> None:
    path = configured(
        tmp_path,
        "  webhooks:\n    - url: https://api.example.com/alma-events\n      events: [memory.created, heuristic.formed]\n      secret: x\n",
    )
    with ALMA.from_config(path) as alma:
        alma.learn(agent="anna", task="task", outcome=True)
    assert [each["url"] for each in load_settings(path).webhooks] == ["https://api.example.com/alma-events"]


@pytest.mark.parametrize(
    ("receivers", "said"),
    [
        ("  webhooks: yes\n", "true and false"),
        ("  webhooks: https://a.example\n", "must be a list"),
        ("  webhooks: [https://a.example]\n", "webhooks.0: must hold"),
        ("  webhooks: [{events: [memory.created]}]\n", "webhooks.0: url is missing"),
        ("  webhooks: [{url: http://a.example}]\n", "https://"),
        ("  webhooks: [{url: 'https://a.example', event: [memory.created]}]\n", "did you mean"),
        ("  webhooks: [{url: 'https://a.example', events: [memory.craeted]}]\n", "memory.created"),
        ("  webhooks: [{url: 'https://a.example'}, {url: 'https://a.example'}]\n", "twice"),
        ("  webhooks: [{url: 'https://a.example', secret: '${UNSET_HOOK_SECRET}'}]\n", "UNSET_HOOK_SECRET"),
    ],
)
def test_a_wrong_receiver_of_a_configuration_is_named(tmp_path: Path, receivers: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_settings(configured(tmp_path, receivers))


def test_receivers_follow_the_configuration(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, wait_until: Wait
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "first secret")
    entry = f"    - url: {receiver.url}\n      allow_http: true\n      allow: [127.0.0.1]\n      secret: ${{HOOK_SECRET}}\n"
    path = configured(tmp_path, f"  webhooks:\n{entry}      events: [memory.created]\n")
    with ALMA.from_config(path) as alma:
        manager = WebhookManager(alma)
        by_hand = manager.add_webhook(WebhookConfig("https://127.0.0.1/", allow=["127.0.0.1"]))
        (endpoint,) = manager.configure(load_settings(path).webhooks)
        manager.start()
        alma.learn(agent="anna", task="task", outcome=True)
        (got,) = receiver.wait_for(1)
        standardwebhooks.Webhook(b"first secret").verify(got.body, dict(got.headers))
        wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 1})
        monkeypatch.setenv("HOOK_SECRET", "second secret")
        path.write_text(HEAD + f"  webhooks:\n{entry}      events: [memory.created, memory.deleted]\n")
        (same,) = manager.configure(load_settings(path).webhooks)
        assert same.id == endpoint.id
        assert str(same.position) == "2"  # behind the record that keeps it, and the outcome
        alma.learn(agent="anna", task="another", outcome=True)
        got = receiver.wait_for(2)[1]
        for secret in (b"first secret", b"second secret"):
            standardwebhooks.Webhook(secret).verify(got.body, dict(got.headers))
        assert manager.configure([]) == []
        assert [each.id for each in manager.endpoints.listed()] == [by_hand.id]
        manager.stop()


@pytest.mark.parametrize(("delivered", "again"), [((), 1), ((3,), 4), ((990, 20), 21)])
def test_receivers_of_a_configuration_miss_nothing_where_the_side_database_is_lost(
    tmp_path: Path, receiver: Receiver, wait_until: Wait, delivered: Sequence[int], again: int
) -> None:
    settings = {"url": receiver.url, "events": ["memory.created"], "allow_http": True, "allow": ["127.0.0.1"]}
    folder = tmp_path / "store"
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        first = alma.learn("anna", "before the receiver", True)
        manager = WebhookManager(alma)
        (endpoint,) = manager.configure([settings])
        manager.start()
        for number in delivered:
            had = len(receiver.got)
            alma.learn_many([{"agent": "anna", "task": f"task {each}", "outcome": True} for each in range(number)])
            wait_until(lambda: len(receiver.got) == had + number)  # noqa: B023 - called at once
            wait_until(lambda: set(manager.endpoints.counts(endpoint.id)) == {"success"})
        manager.stop()
        alma.learn("anna", "while nobody delivered", True)
    for name in ("service.db", "service.db-wal", "service.db-shm"):
        (folder / name).unlink(missing_ok=True)
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        made = {memory.id for memory in alma.list_memories("outcome", limit=2_000)} - {first.id}
        manager = WebhookManager(alma)
        (endpoint,) = manager.configure([settings])
        manager.start()
        wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": again})
        manager.stop()
    assert {each.event["memory_id"] for each in receiver.got} == made


def test_a_receiver_that_was_taken_out_of_the_configuration_begins_anew(
    tmp_path: Path, receiver: Receiver, wait_until: Wait
) -> None:
    settings = {"url": receiver.url, "events": ["memory.created"], "allow_http": True, "allow": ["127.0.0.1"]}
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        manager = WebhookManager(alma)
        manager.configure([settings])
        manager.configure([])
        alma.learn("anna", "while it was out", True)
        (endpoint,) = manager.configure([settings])
        made = alma.learn("anna", "while it is in", True)
        manager.start()
        wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 1})
        manager.stop()
    assert [each.event["memory_id"] for each in receiver.got] == [made.id]


def test_kept_positions_are_of_one_store_and_no_content(tmp_path: Path, receiver: Receiver) -> None:
    settings = {"url": receiver.url, "events": ["memory.created"], "allow_http": True, "allow": ["127.0.0.1"]}
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        alma.learn("anna", "a task", True)
        before, exported = alma.content_hash(), BytesIO()
        WebhookManager(alma).configure([settings])
        alma.export(exported)
        assert alma.content_hash() == before
    assert b"webhook" not in exported.getvalue()
    with ALMA.open(tmp_path / "other", project_id="shop", embedding_provider="hash") as other:
        other.import_from(BytesIO(exported.getvalue()))
        head = other.get_stats().journal_records
        (endpoint,) = WebhookManager(other).configure([settings])
        assert str(endpoint.position) == str(head)


def test_settings_of_an_encrypted_store_are_not_readable_in_its_files(tmp_path: Path, receiver: Receiver) -> None:
    key = os.urandom(32)
    folder = tmp_path / "store"
    settings: dict[str, Any] = {"secret": "s3cr3t-of-mine", "headers": {"Authorization": "Bearer h3ader"}, "allow_http": True}
    config = WebhookConfig(receiver.url + "?token=tok3n", ["memory.created"], allow=["127.0.0.1"], **settings)
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        endpoint = WebhookManager(alma).add_webhook(config)
    encrypt_store(folder, key)
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", encryption_key=key) as alma:
        manager = WebhookManager(alma)
        assert [each.id for each in manager.endpoints.listed()] == [endpoint.id]
        assert manager.test(endpoint.id).is_success
        second = manager.add_webhook(WebhookConfig(receiver.url, secret="sec0nd-secret", allow_http=True, allow=["127.0.0.1"]))
        assert manager.test(second.id).is_success
    got = receiver.got[0]
    standardwebhooks.Webhook(b"s3cr3t-of-mine").verify(got.body, dict(got.headers))
    files = b"".join(file.read_bytes() for file in folder.glob("service.db*"))
    for word in (b"s3cr3t-of-mine", b"h3ader", b"tok3n", b"sec0nd-secret"):
        assert word not in files


@pytest.fixture
def alma_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs `alma webhooks` in a folder with a memory."""
    with ALMA.from_config(configured(tmp_path, "")) as alma:
        alma.learn(agent="anna", task="task", outcome=True)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **how: CliRunner().invoke(app, ["webhooks", *arguments], **how)


def test_the_command_line_looks_after_receivers(tmp_path: Path, receiver: Receiver, alma_command: Callable[..., Any]) -> None:
    inside = ("--allow-http", "--allow", "127.0.0.1", "--event", "memory.created", "--since", "0", "--json")
    added = json.loads(alma_command("add", receiver.url, *inside).stdout)
    name, secret = added["webhook"]["id"], added["secret"]
    assert json.loads(alma_command("test", name, "--json").stdout)["status"] == 204
    standardwebhooks.Webhook(secret).verify(receiver.got[0].body, dict(receiver.got[0].headers))
    with subprocess.Popen([sys.executable, "-m", "alma", "webhooks", "run"], cwd=tmp_path, stderr=subprocess.PIPE) as running:
        receiver.wait_for(2)
        time.sleep(1.0)
        running.send_signal(2)
        assert running.wait(30) == 0
    (delivery,) = json.loads(alma_command("deliveries", name, "--json").stdout)["deliveries"]
    assert (delivery["status"], delivery["attempts"]) == ("success", 1)
    assert "204" not in alma_command("deliveries", name).stdout
    assert alma_command("replay", name, "--since", "0").exit_code == 0
    assert json.loads(alma_command("deliveries", name, "--json").stdout)["deliveries"] == []
    rotated = json.loads(alma_command("rotate", name, "--json").stdout)["secret"]
    assert rotated != secret
    assert alma_command("disable", name).exit_code == 0
    listed = alma_command("list").stdout
    assert "disabled" in listed
    assert secret not in listed
    assert alma_command("enable", name).exit_code == 0
    assert alma_command("disable", name, "--remove").exit_code == 0
    assert json.loads(alma_command("list", "--json").stdout) == {"webhooks": []}


def test_a_receiver_inside_is_refused_on_the_command_line_and_a_failed_test_ends_with_1(
    receiver: Receiver, alma_command: Callable[..., Any]
) -> None:
    refused = alma_command("add", receiver.url, "--allow-http")
    assert refused.exit_code != 0
    assert "not public" in refused.stderr
    receiver.answer = lambda _: Reply(500)
    secret = {"HOOK": "chosen secret"}
    added = alma_command("add", receiver.url, "--allow-http", "--allow", "127.0.0.1", "--secret-env", "HOOK", env=secret)
    name = added.stdout.split()[0]
    assert "chosen secret" not in added.stdout
    assert alma_command("test", name).exit_code == 1
    standardwebhooks.Webhook(b"chosen secret").verify(receiver.got[0].body, dict(receiver.got[0].headers))
    assert alma_command("test", "wh_unknown").exit_code not in (0, 1)


def test_the_doctor_names_a_receiver_that_is_disabled(alma_command: Callable[..., Any], receiver: Receiver) -> None:
    added = alma_command("add", receiver.url, "--allow-http", "--allow", "127.0.0.1", "--json")
    name = json.loads(added.stdout)["webhook"]["id"]

    def found() -> list[tuple[str, str, str]]:
        return list(findings(Path(".alma/config.yaml")))

    assert [(each[0], each[1]) for each in found()] == [("webhooks", "ok")]
    alma_command("disable", name)
    assert [(each[1], name in each[2]) for each in found()] == [("info", True)]
    with ALMA.from_config(".alma/config.yaml") as alma:
        WebhookManager(alma).endpoints.disable(name, reason="the receiver answered 410")
    assert [(each[1], "410" in each[2]) for each in found()] == [("FAILED", True)]


def test_the_published_snippet_runs() -> None:
    manager = WebhookManager()
    manager.add_webhook(
        WebhookConfig(
            url="https://your-app.com/alma-webhook",
            events=[MemoryEventType.CREATED, MemoryEventType.UPDATED],
            secret="your-webhook-secret",
            retry_count=3,
            retry_delay=5.0,
        )
    )
    manager.add_webhook(
        WebhookConfig(
            url="https://your-app.com/webhook",
            events=[MemoryEventType.CREATED],
            secret="hmac-secret",
            headers={"Authorization": "Bearer token"},
            retry_count=3,
            retry_delay=5.0,
            retry_backoff=2.0,
            agent_filter=["agent1"],
            project_filter=["proj1"],
            timeout=30.0,
            batch_size=10,
            batch_delay=1.0,
        )
    )
    manager.start(get_emitter())
    assert (manager.webhook_count, manager.is_running) == (2, True)
    assert manager.remove_webhook("https://your-app.com/webhook")
    assert not manager.remove_webhook("https://your-app.com/webhook")
    for delivery in manager.get_recent_deliveries():
        print(f"URL: {delivery.url} {delivery.status} {delivery.attempts} {delivery.last_error}")
    manager.stop(get_emitter())
    assert (manager.webhook_count, manager.is_running) == (1, False)
    reset_emitter()


def test_without_a_memory_the_events_of_an_emitter_are_delivered(tmp_path: Path, receiver: Receiver, wait_until: Wait) -> None:
    reset_emitter()
    answers = [Reply(500)]
    receiver.answer = lambda _: answers.pop() if answers else Reply(200)
    manager = WebhookManager()
    manager.add_webhook(
        WebhookConfig(
            receiver.url,
            [MemoryEventType.CREATED],
            "plain",
            agent_filter=["anna"],
            max_retries=2,
            retry_delay=0.01,
            allow_http=True,
            allow=["127.0.0.1"],
        )
    )
    manager.start(get_emitter())
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        made = alma.learn(agent="anna", task="task", outcome=True)
        alma.learn(agent="bert", task="task", outcome=True)
        got = receiver.wait_for(2)
    wait_until(lambda: [each.status for each in manager.get_recent_deliveries()] == [WebhookDeliveryStatus.SUCCESS])
    assert {each.event["memory_id"] for each in got} == {made.id}
    assert manager.get_recent_deliveries()[0].attempts == 2
    standardwebhooks.Webhook(b"plain").verify(got[0].body, dict(got[0].headers))
    manager.stop(get_emitter())
    get_emitter().emit(MemoryEvent(event_type=MemoryEventType.CREATED, agent="anna"))
    time.sleep(0.2)
    assert len(receiver.got) == 2
    reset_emitter()


def test_a_receiver_inside_is_refused_in_memory_when_it_is_called(wait_until: Wait) -> None:
    with receiving() as inside:
        manager = WebhookManager()
        manager.add_webhook(WebhookConfig(inside.url, allow_http=True, retry_count=0))
        manager.start(get_emitter())
        get_emitter().emit(MemoryEvent(event_type=MemoryEventType.CREATED, agent="anna", id="evt_x"))
        wait_until(lambda: [each.last_error for each in manager.get_recent_deliveries()] == ["address refused"])
        manager.stop()
        assert inside.got == []
    reset_emitter()


def test_only_a_manager_with_a_memory_stores_receivers() -> None:
    with pytest.raises(ConfigurationError):
        _ = WebhookManager().endpoints
    with pytest.raises(ValidationError):
        WebhookManager().add_webhook(WebhookConfig("http://your-app.com/"))
