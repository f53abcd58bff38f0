"""Deliveries: what is sent, in which order, how often, and when it ends."""

import hashlib
import hmac
import json
import logging
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks

from alma import ALMA
from alma.errors import MemoryNotFoundError, ValidationError
from alma.events import get_emitter, reset_emitter
from alma_access import Access, TokenFile
from alma_events.webhooks import WebhookConfig, WebhookDeliveryStatus, WebhookManager
from alma_events.webhooks.endpoints import OF_TOKEN
from webhook_receiver import Got, Receiver, Reply, receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Wait = Callable[..., None]
Add = Callable[..., Any]


def learn(alma: ALMA, *tasks: str, agent: str = "anna", **more: Any) -> list[str]:
    return [alma.learn(agent=agent, task=task, outcome=True, **more).id for task in tasks]


def test_each_change_is_delivered_once_with_the_id_of_its_event(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    add()
    manager.start()
    made = learn(alma, *(f"task {number}" for number in range(20)))
    got = receiver.wait_for(20)
    assert sorted(each.event["memory_id"] for each in got) == sorted(made)
    assert {each.headers["webhook-id"] for each in got} == {event.id for event in alma.events(types=["memory.created"])}
    time.sleep(0.2)
    assert len(receiver.got) == 20


def test_what_was_there_before_is_delivered_only_if_asked_for(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    learn(alma, "before")
    add()
    with receiving() as second:
        add(url=second.url, since=0)
        manager.start()
        (now,) = learn(alma, "now")
        assert [each.event["memory_id"] for each in receiver.wait_for(1)] == [now]
        assert len(second.wait_for(2)) == 2


def test_the_published_signature_and_that_of_standard_webhooks_verify(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    add(secret=SECRET, headers={"Authorization": "Bearer abc"})
    manager.start()
    learn(alma, "task")
    (got,) = receiver.wait_for(1)
    event = standardwebhooks.Webhook(SECRET).verify(got.body, dict(got.headers))
    assert event["type"] == got.headers["x-alma-event-type"] == "memory.created"
    signed = f"{got.headers['x-alma-timestamp']}.".encode() + got.body
    assert got.headers["x-alma-signature"] == "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["authorization"] == "Bearer abc"
    assert got.headers["content-type"] == "application/json"


def test_a_secret_of_plain_text_signs_too(alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add) -> None:
    add(secret="your-webhook-secret")
    manager.start()
    learn(alma, "task")
    (got,) = receiver.wait_for(1)
    standardwebhooks.Webhook(b"your-webhook-secret").verify(got.body, dict(got.headers))


def test_a_receiver_without_a_secret_gets_one_that_is_shown_once(manager: WebhookManager, add: Add) -> None:
    endpoint = add()
    assert endpoint.new_secret.startswith("whsec_")
    shown = repr(endpoint) + json.dumps(endpoint.to_dict()) + repr(manager.endpoints.get(endpoint.id)) + repr(endpoint.config)
    assert endpoint.new_secret not in shown
    assert endpoint.new_secret.removeprefix("whsec_") not in shown
    assert manager.endpoints.get(endpoint.id).new_secret is None


def test_after_a_rotation_both_secrets_verify_for_a_day(alma: ALMA, receiver: Receiver) -> None:
    now = [time.time()]
    manager = WebhookManager(alma, clock=lambda: now[0])
    endpoint = manager.add_webhook(WebhookConfig(receiver.url, ["memory.created"], SECRET, allow_http=True, allow=["127.0.0.1"]))
    second = manager.endpoints.rotate(endpoint.id).new_secret
    assert second is not None
    manager.start()
    learn(alma, "task")
    (got,) = receiver.wait_for(1)
    for secret in (SECRET, second):
        standardwebhooks.Webhook(secret).verify(got.body, dict(got.headers))
    manager.stop()
    now[0] += 25 * 3_600
    manager.start()
    learn(alma, "another task")
    got = receiver.wait_for(2)[1]
    manager.stop()
    assert got.headers["webhook-signature"].count("v1,") == 1


def test_events_of_one_memory_keep_their_order_however_often_the_receiver_fails(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    tries: dict[str, int] = defaultdict(int)

    def answer(got: Got) -> Reply:
        tries[got.headers["webhook-id"]] += 1
        is_bad = hash((got.headers["webhook-id"], tries[got.headers["webhook-id"]])) % 3 == 0
        return Reply(500 if is_bad else 200)

    receiver.answer = answer
    endpoint = add(
        events=["memory.created", "memory.updated", "memory.deleted", "memory.restored"], retry_count=30, retry_delay=0.01
    )
    manager.start()
    kept = [alma.add_domain_knowledge(agent="anna", domain="d", fact=f"fact {number}").id for number in range(8)]
    for _ in range(3):
        alma.undo(to=alma.forget(memory_ids=kept).seq - 1)
    wanted = [event.position for event in alma.events(types=["memory.created", "memory.deleted", "memory.restored"])]
    end = time.monotonic() + 30
    while manager.endpoints.counts(endpoint.id).get("success", 0) < len(wanted):
        assert time.monotonic() < end
        time.sleep(0.05)
    order: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in receiver.got:
        order[each.event["memory_id"]].append((each.event["seq"], each.event["index"]))
    assert len(receiver.got) > len(wanted)
    assert all(requests == sorted(requests) for requests in order.values())


def test_a_strict_endpoint_gets_one_event_after_another(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    failures = [500, 500]
    receiver.answer = lambda _: Reply(failures.pop() if failures else 200)
    add(ordering="strict", retry_count=5, retry_delay=0.01)
    manager.start()
    learn(alma, *(f"task {number}" for number in range(6)))
    got = receiver.wait_for(8)
    order = [each.event["seq"] for each in got]
    assert order == sorted(order)


def test_a_batch_has_several_events_in_order_and_names_its_first_and_last(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    add(batch_size=10, batch_delay=0.2, secret=SECRET)
    manager.start()
    learn(alma, *(f"task {number}" for number in range(25)))

    def events() -> list[dict[str, Any]]:
        return [event for each in receiver.got for event in each.event["events"]]

    wait_until(lambda: len(events()) == 25)
    assert len({each["id"] for each in events()}) == 25
    for each in receiver.got:
        listed = each.event["events"]
        assert 1 <= len(listed) <= 10
        assert [one["seq"] for one in listed] == sorted(one["seq"] for one in listed)
        assert each.headers["webhook-id"] in (listed[0]["id"], f"{listed[0]['id']}-{listed[-1]['id']}")
        assert each.headers["x-alma-event-type"] == "batch"
        standardwebhooks.Webhook(SECRET).verify(each.body, dict(each.headers))


def test_a_receiver_that_is_gone_is_disabled_and_goes_on_where_it_stopped(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    receiver.answer = lambda _: Reply(410)
    endpoint = add()
    manager.start()
    learn(alma, "first")
    wait_until(lambda: manager.endpoints.get(endpoint.id).state == "disabled")
    assert "410" in manager.endpoints.get(endpoint.id).reason
    made = learn(alma, "second", "third")
    time.sleep(1.5)
    before = len(receiver.got)
    receiver.answer = lambda _: Reply(200)
    manager.endpoints.enable(endpoint.id)
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 3})
    assert before == 1
    assert {each.event["memory_id"] for each in receiver.got[-3:]} >= set(made)


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500, 503])
def test_any_other_answer_is_tried_again(alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, status: int) -> None:
    answers = [Reply(status), Reply(200)]
    receiver.answer = lambda _: answers.pop(0)
    add(retry_count=2, retry_delay=0.01)
    manager.start()
    learn(alma, "task")
    first, second = receiver.wait_for(2)
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_a_delivery_is_tried_for_three_days_and_then_waits_to_be_seen(alma: ALMA, receiver: Receiver, wait_until: Wait) -> None:
    began = time.time()
    now = [began]
    manager = WebhookManager(alma, clock=lambda: now[0])
    receiver.answer = lambda _: Reply(500)
    endpoint = manager.add_webhook(WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"]))
    manager.start()
    (made,) = learn(alma, "task")
    ages = [0.0]
    for tries in range(1, 10):
        receiver.wait_for(tries)
        wait_until(lambda tries=tries: manager.endpoints.deliveries(endpoint.id)[0].attempts == tries)
        following = manager.endpoints.deliveries(endpoint.id)[0].next_attempt
        assert following is not None
        now[0] = following.timestamp() + 0.001
        ages.append(now[0] - began)
    wait_until(lambda: manager.endpoints.deliveries(endpoint.id)[0].status == WebhookDeliveryStatus.FAILED)
    assert len(receiver.got) == 10
    assert 2 * 86_400 < ages[-1] < 4.5 * 86_400
    receiver.answer = lambda _: Reply(200)
    (dead,) = manager.endpoints.deliveries(endpoint.id, status="failed")
    assert (dead.attempts, dead.status_code, dead.last_error) == (10, 500, "status 500")
    manager.endpoints.retry(endpoint.id, dead.position)
    assert receiver.wait_for(11)[-1].event["memory_id"] == made
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 1})
    manager.stop()


def test_a_receiver_may_ask_for_time(alma: ALMA, receiver: Receiver, wait_until: Wait) -> None:
    now = [time.time()]
    manager = WebhookManager(alma, clock=lambda: now[0])
    answers = [Reply(429, {"retry-after": "1800"}), Reply(503, {"retry-after": "999999"})]
    receiver.answer = lambda _: answers.pop(0) if answers else Reply(200)
    endpoint = manager.add_webhook(
        WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"], retry_delay=1.0, ordering="strict")
    )
    manager.start()
    learn(alma, "task", "another")
    for wait, count in ((1800, 1), (3600, 2)):
        wait_until(lambda count=count: [each.attempts for each in manager.endpoints.deliveries(endpoint.id)][-1:] == [count])
        due = manager.endpoints.deliveries(endpoint.id)[-1].next_attempt
        assert due is not None
        assert due.timestamp() - now[0] == pytest.approx(wait, abs=1)
        now[0] += wait + 1
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 2})
    manager.stop()


def test_an_endpoint_that_fails_for_long_pauses_is_probed_and_goes_on_where_it_stopped(
    alma: ALMA, receiver: Receiver, wait_until: Wait
) -> None:
    now = [time.time()]
    manager = WebhookManager(alma, clock=lambda: now[0])
    receiver.answer = lambda _: Reply(500)
    endpoint = manager.add_webhook(
        WebhookConfig(
            receiver.url,
            ["memory.created"],
            allow_http=True,
            allow=["127.0.0.1"],
            retry_count=50,
            retry_delay=400.0,
            retry_backoff=1,
        )
    )
    manager.start()
    made = learn(alma, "first", "second")

    def after(seconds: float, is_so: Callable[[], bool]) -> bool:
        """Lets time pass at each look: an attempt may read the clock at any moment, so no single leap is sure to reach the next one."""
        now[0] += seconds
        return is_so()

    wait_until(lambda: after(150, lambda: manager.endpoints.get(endpoint.id).state == "paused"))
    assert len(receiver.got) < 60
    made += learn(alma, "third")
    seen = len(receiver.got)
    wait_until(lambda: after(60, lambda: any(each.event["type"] == "webhook.test" for each in list(receiver.got))))
    assert {each.event["type"] for each in receiver.got[seen:]} <= {"webhook.test"}
    receiver.answer = lambda _: Reply(200)
    wait_until(lambda: after(120, lambda: manager.endpoints.counts(endpoint.id) == {"success": 3}))
    assert manager.endpoints.get(endpoint.id).state == "active"
    assert {each.event["memory_id"] for each in receiver.got[seen:]} >= set(made)
    manager.stop()


def test_an_endpoint_that_fails_for_five_days_is_disabled(alma: ALMA, receiver: Receiver, wait_until: Wait) -> None:
    now = [time.time()]
    manager = WebhookManager(alma, clock=lambda: now[0])
    receiver.answer = lambda _: Reply(500)
    endpoint = manager.add_webhook(WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"]))
    manager.start()
    learn(alma, "task")
    receiver.wait_for(1)
    wait_until(lambda: manager.endpoints.get(endpoint.id).failures == 1)
    now[0] += 6 * 86_400
    wait_until(lambda: manager.endpoints.get(endpoint.id).state == "disabled")
    assert "five days" in manager.endpoints.get(endpoint.id).reason
    manager.stop()


def test_a_replay_sends_the_same_events_again_from_any_position(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    endpoint = add()
    manager.start()
    learn(alma, *(f"task {number}" for number in range(5)))
    first = [each.headers["webhook-id"] for each in sorted(receiver.wait_for(5), key=lambda each: each.event["seq"])]
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 5})
    manager.endpoints.replay(endpoint.id, since=2)
    again = receiver.wait_for(8)[5:]
    assert sorted(each.headers["webhook-id"] for each in again) == sorted(first[2:])
    assert all(each.event["replayed"] for each in again)


def test_a_position_that_the_journal_does_not_reach_is_refused(alma: ALMA, manager: WebhookManager, add: Add) -> None:
    endpoint = add()
    learn(alma, "task")
    with pytest.raises(ValidationError, match="ends with record 1"):
        add(since="2")
    with pytest.raises(ValidationError, match="ends with record 1"):
        manager.endpoints.replay(endpoint.id, since="5000")
    assert len(manager.endpoints.listed()) == 1
    assert manager.endpoints.get(endpoint.id).position.seq == 0


def test_after_an_older_copy_of_the_store_was_put_back_its_new_events_are_delivered(
    tmp_path: Path, alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    learn(alma, "before the receiver")
    endpoint = add()
    manager.start()
    learn(alma, "kept")
    alma.backup(tmp_path / "copy.db")
    learn(alma, *(f"lost {number}" for number in range(3)))
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 4})
    alma.close()
    store = tmp_path / "store"
    for name in ("alma.db", "alma.db-wal", "alma.db-shm"):
        (store / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(store / "alma.db")
    with ALMA.open(store, project_id="shop", embedding_provider="hash") as again:
        second = WebhookManager(again)
        second.start()
        made = learn(again, *(f"new {number}" for number in range(5)))
        wait_until(lambda: {each.event["memory_id"] for each in list(receiver.got)} >= set(made))
        second.stop()
    tasks = [each.event["seq"] for each in receiver.got]
    assert 1 not in tasks


def test_an_endpoint_that_is_disabled_by_its_answers_is_told_to_subscribers(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    told: list[Any] = []
    get_emitter().subscribe("webhook.disabled", told.append)
    receiver.answer = lambda _: Reply(410)
    endpoint = add()
    manager.start()
    learn(alma, "task")
    wait_until(lambda: told)
    assert told[0].payload["endpoint"] == endpoint.id
    reset_emitter()


def test_each_event_names_the_one_before_it_under_the_filter_of_the_endpoint(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add
) -> None:
    add(agents=["anna"], ordering="strict")
    manager.start()
    for number in range(6):
        learn(alma, f"task {number}", agent="anna" if number % 2 else "bert")
    events = [each.event for each in receiver.wait_for(3)]
    assert [each["previous"] for each in events] == [None, *(f"{each['seq']}.{each['index']}" for each in events[:-1])]


def test_an_endpoint_gets_what_its_access_reads_and_nothing_of_users_by_default(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    add()
    with receiving() as of_anna, receiving() as of_maria, receiving() as of_all:
        add(url=of_anna.url, access=Access(agent="anna", user_id=""))
        add(url=of_maria.url, users="maria")
        add(url=of_all.url, users="all")
        manager.start()
        (plain,) = learn(alma, "plain")
        (foreign,) = learn(alma, "foreign", agent="bert")
        (maria,) = learn(alma, "for maria", user_id="maria")
        (noah,) = learn(alma, "for noah", user_id="noah")

        def got(one: Receiver) -> set[str]:
            return {each.event["memory_id"] for each in one.got}

        of_all.wait_for(4)
        of_maria.wait_for(3)
        receiver.wait_for(2)
        of_anna.wait_for(1)
        time.sleep(0.2)
        assert got(of_all) == {plain, foreign, maria, noah}
        assert got(of_maria) == {plain, foreign, maria}
        assert got(receiver) == {plain, foreign}
        assert got(of_anna) == {plain}


def test_endpoints_of_another_project_or_owner_are_not_found(alma: ALMA, manager: WebhookManager, add: Add) -> None:
    endpoint = add(owner="token of anna")
    for endpoints, owner in ((WebhookManager(alma.for_project("other")).endpoints, None), (manager.endpoints, "token of bert")):
        for call in (
            endpoints.get,
            endpoints.remove,
            endpoints.rotate,
            endpoints.disable,
            endpoints.deliveries,
            endpoints.acknowledge,
        ):
            with pytest.raises(MemoryNotFoundError):
                call(endpoint.id, owner=owner)  # type: ignore[operator]
    assert manager.endpoints.listed(owner="token of bert") == []
    assert [each.id for each in manager.endpoints.listed(owner="token of anna")] == [endpoint.id]


def test_purged_words_are_neither_in_the_side_database_nor_in_later_requests(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    receiver.answer = lambda _: Reply(500)
    endpoint = add(payload="full", users="all", retry_count=5, retry_delay=1.5, retry_backoff=1)
    dead = add(payload="full", users="all", retry_count=0)
    manager.start()
    (secret,) = learn(alma, "the word is xylophone")
    learn(alma, "and zeppelin", user_id="maria")
    (kept,) = learn(alma, "harmless")
    wait_until(lambda: manager.endpoints.counts(dead.id) == {"failed": 3})
    wait_until(lambda: len(receiver.got) >= 6)
    assert any(b"xylophone" in each.body for each in receiver.got)
    alma.purge([secret])
    alma.forget_user("maria")
    before = len(receiver.got)
    receiver.answer = lambda _: Reply(200)
    for each in manager.endpoints.deliveries(dead.id, status="failed"):
        manager.endpoints.retry(dead.id, each.position)
    manager.endpoints.replay(endpoint.id, since=0)
    wait_until(lambda: any(each.event["memory_id"] == kept for each in receiver.got[before:]))
    wait_until(
        lambda: (
            set(manager.endpoints.counts(dead.id)) <= {"success"} and set(manager.endpoints.counts(endpoint.id)) <= {"success"}
        )
    )
    manager.stop()
    later = b"".join(each.body for each in receiver.got[before:])
    files = b"".join(file.read_bytes() for file in alma_folder(alma).glob("service.db*"))
    for word in (b"xylophone", b"zeppelin"):
        assert word not in later
        assert word not in files


def alma_folder(alma: ALMA) -> Any:
    return Path(alma.storage.file).parent  # type: ignore[attr-defined]


def test_a_slow_receiver_leaves_the_others_unharmed(alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add) -> None:
    released = threading.Event()

    def drip(_: Got) -> Reply:
        released.wait(20)
        return Reply(200)

    with receiving() as slow:
        slow.answer = drip
        for _ in range(6):
            add(url=slow.url, timeout=5.0)
        add()
        manager.start()
        began = time.monotonic()
        learn(alma, *(f"task {number}" for number in range(40)))
        receiver.wait_for(40)
        assert time.monotonic() - began < 4.5
        released.set()


def test_an_answer_that_does_not_end_is_read_no_further_than_it_is_needed(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait
) -> None:
    receiver.answer = lambda _: Reply(200, {"content-length": str(10**12)}, b"x" * 100_000)
    endpoint = add()
    manager.start()
    learn(alma, "task", "another")
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 2})


def test_of_two_managers_one_at_a_time_delivers_to_an_endpoint(alma: ALMA, receiver: Receiver, wait_until: Wait) -> None:
    at_once: dict[str, int] = defaultdict(int)
    most = [0]
    lock = threading.Lock()

    def answer(got: Got) -> Reply:
        with lock:
            at_once[got.headers["webhook-id"]] += 1
            most[0] = max(most[0], at_once[got.headers["webhook-id"]])
        time.sleep(0.01)
        with lock:
            at_once[got.headers["webhook-id"]] -= 1
        return Reply(200)

    receiver.answer = answer
    managers = [WebhookManager(alma) for _ in range(3)]
    endpoint = managers[0].add_webhook(WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"]))
    for each in managers:
        each.start()
    learn(alma, *(f"task {number}" for number in range(60)))
    wait_until(lambda: managers[0].endpoints.counts(endpoint.id) == {"success": 60})
    for each in managers:
        each.stop()
    assert most == [1]
    assert len(receiver.got) == 60


def test_rules_that_are_formed_are_delivered_once_each(alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add) -> None:
    add(events=["heuristic.formed", "antipattern.detected"])
    manager.start()
    for number in range(6):
        alma.learn(
            agent="anna", task=f"deploy the service {number}", outcome=True, strategy_used="canary rollout", task_type="deploy"
        )
    got = receiver.wait_for(1)[0]
    assert got.event["type"] == "heuristic.formed"
    assert "canary" not in got.body.decode()
    manager.stop()
    manager.start()
    alma.learn(agent="anna", task="deploy the service 9", outcome=True, strategy_used="canary rollout", task_type="deploy")
    time.sleep(1.0)
    assert len({each.headers["webhook-id"] for each in receiver.got}) == len(receiver.got)


@pytest.mark.parametrize(
    "settings",
    [
        {"events": ["memory.craeted"]},
        {"retry_count": -1},
        {"retry_count": 1, "max_retries": 2},
        {"timeout": 0},
        {"timeout": 1e9},
        {"batch_size": 0},
        {"batch_size": 10_000},
        {"payload": "fat"},
        {"ordering": "random"},
        {"secret": ""},
        {"secret": "whsec_not base64"},
        {"secret": "whsec_"},
        {"headers": {"Host": "x"}},
        {"headers": {"webhook-id": "x"}},
        {"headers": {"X-ALMA-Signature": "x"}},
        {"headers": {"a": "b\r\nc: d"}},
        {"headers": {"a b": "c"}},
        {"users": ""},
        {"agents": "anna"},
        {"allow": ["not a host!"]},
    ],
)
def test_wrong_settings_are_refused_and_nothing_is_stored(manager: WebhookManager, add: Add, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        add(**settings)
    assert manager.webhook_count == 0


def test_secrets_and_urls_stay_out_of_logs(
    alma: ALMA, manager: WebhookManager, receiver: Receiver, add: Add, wait_until: Wait, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.answer = lambda _: Reply(500)
    endpoint = add(
        url=receiver.url + "?token=tok3n",
        secret="s3cr3t-of-mine",
        headers={"Authorization": "Bearer h3ader"},
        retry_count=1,
        retry_delay=0.01,
    )
    manager.start()
    learn(alma, "task")
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"failed": 1})
    manager.stop()
    said = caplog.text
    assert endpoint.id in said
    for word in ("s3cr3t-of-mine", "h3ader", "tok3n"):
        assert word not in said


def test_a_receiver_of_a_token_gets_nothing_once_that_is_revoked_or_expired(
    alma: ALMA, receiver: Receiver, tmp_path: Path, wait_until: Wait
) -> None:
    tokens = TokenFile(tmp_path)
    config = WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"])
    for name, expires in (("laptop", None), ("visitor", time.time_ns() // 1_000 + 1_000_000)):
        tokens.add(name, Access(), expires=expires)
    manager = WebhookManager(alma, is_token=tokens.is_current)
    owners = {name: f"{OF_TOKEN}{token.id}" for name, token in tokens.tokens().items()}
    added = {name: manager.add_webhook(config, owner=owner).id for name, owner in owners.items()}
    time.sleep(1.1)  # one expires
    manager.start()
    (first,) = learn(alma, "first")
    wait_until(lambda: manager.endpoints.counts(added["laptop"]) == {"success": 1})
    wait_until(lambda: manager.endpoints.get(added["visitor"]).state == "disabled")
    tokens.revoke("laptop")
    learn(alma, "second")
    wait_until(lambda: manager.endpoints.get(added["laptop"]).state == "disabled")
    assert "token" in manager.endpoints.get(added["laptop"]).reason
    manager.endpoints.enable(added["laptop"])
    wait_until(lambda: manager.endpoints.get(added["laptop"]).state == "disabled")
    manager.stop()
    assert [each.event["memory_id"] for each in receiver.got] == [first]


def test_a_receiver_of_a_token_waits_while_tokens_cannot_be_read(
    alma: ALMA, receiver: Receiver, tmp_path: Path, wait_until: Wait
) -> None:
    tokens = TokenFile(tmp_path)
    tokens.add("laptop", Access())
    (token,) = tokens.tokens().values()
    whole, now = tokens.path.read_bytes(), [time.time()]
    manager = WebhookManager(alma, is_token=tokens.is_current, clock=lambda: now[0])
    config = WebhookConfig(receiver.url, ["memory.created"], allow_http=True, allow=["127.0.0.1"])
    endpoint = manager.add_webhook(config, owner=f"{OF_TOKEN}{token.id}")
    tokens.path.write_bytes(b"{")
    manager.start()
    learn(alma, "task")
    time.sleep(1.0)
    assert receiver.got == []
    tokens.path.write_bytes(whole)
    now[0] += 120
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 1})
    assert manager.endpoints.get(endpoint.id).state == "active"
    manager.stop()


def test_a_process_that_ends_without_closing_says_nothing_and_the_next_one_goes_on_at_once(
    tmp_path: Path, receiver: Receiver
) -> None:
    program = f"""
import sys, time
from alma import ALMA
from alma_events.webhooks import WebhookConfig, WebhookManager
alma = ALMA.open({str(tmp_path / "store")!r}, project_id="shop", embedding_provider="hash")
manager = WebhookManager(alma)
if not manager.webhook_count:
    manager.add_webhook(WebhookConfig({receiver.url!r}, ["memory.created"], allow_http=True, allow=["127.0.0.1"]))
manager.start()
time.sleep(0.5)
for number in range(5):
    alma.learn("anna", f"task {{number}}", "success")
time.sleep(float(sys.argv[1]))
"""
    for seconds in ("0", "10"):
        ended = subprocess.run([sys.executable, "-c", program, seconds], capture_output=True, text=True, timeout=60, check=True)
        assert ended.stderr == ""
    assert {each.event["seq"] for each in receiver.got} == set(range(1, 11))
