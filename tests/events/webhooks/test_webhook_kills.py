"""Processes that deliver are killed at any moment: no event is lost, none overtakes an earlier one of its memory, and repeats have equal ids."""

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import webhook_worker
from alma import ALMA
from alma_events.webhooks import WebhookConfig, WebhookManager
from webhook_receiver import Got, Receiver, Reply

TYPES = ["memory.created", "memory.deleted"]
ROUNDS, WRITES = 3, 500


@contextmanager
def working(folder: Path, first: int, part: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, webhook_worker.__file__, str(folder), str(WRITES), str(first), part]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def failing(receiver: Receiver, share: float, chance: random.Random) -> None:
    receiver.answer = lambda _: Reply(500 if chance.random() < share else 200)


def check_requests(alma: ALMA, accepted: list[Got], every: list[Got]) -> None:
    """Checks that each event was accepted, that requests for one memory are in order between two kills, and that ids are those of events."""
    wanted = {event.id: event for event in alma.events(types=TYPES)}
    assert set(wanted) - {each.headers["webhook-id"] for each in accepted} == set()
    firsts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in accepted:
        event = each.event
        assert wanted[event["id"]].position == f"{event['seq']}.{event['index']}"
        if (event["seq"], event["index"]) not in firsts[event["memory_id"]]:
            firsts[event["memory_id"]].append((event["seq"], event["index"]))
    assert all(order == sorted(order) for order in firsts.values())


@pytest.mark.slow
def test_nothing_is_lost_when_the_process_that_writes_and_delivers_is_killed(
    tmp_path: Path, receiver: Receiver, wait_until: Callable[..., None]
) -> None:
    chance = random.Random(7)
    accepted: list[Got] = []

    def answer(got: Got) -> Reply:
        if chance.random() < 0.3:
            return Reply(500)
        accepted.append(got)
        return Reply(200)

    receiver.answer = answer
    folder = tmp_path / "store"
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        manager = WebhookManager(alma)
        endpoint = manager.add_webhook(
            WebhookConfig(
                *(receiver.url, TYPES),
                allow_http=True,
                allow=["127.0.0.1"],
                retry_count=40,
                retry_delay=0.02,
                retry_backoff=1,
                timeout=1.0,  # so that a lease ends soon after its holder
            )
        )
    for number in range(ROUNDS):
        with working(folder, number * WRITES, "write") as process:
            assert process.stdout is not None
            last = chance.randrange(WRITES // 2, WRITES)
            for line in process.stdout:
                if line.strip() in ("done", str(number * WRITES + last)):
                    break
    with working(folder, 0, "deliver"), ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        count = sum(1 for _ in alma.events(types=TYPES))
        manager = WebhookManager(alma)
        wait_until(
            lambda: (
                len({each.headers["webhook-id"] for each in list(accepted)}) == count
                and set(manager.endpoints.counts(endpoint.id)) == {"success"}
            ),
            seconds=60,
        )
        check_requests(alma, accepted, receiver.got)
