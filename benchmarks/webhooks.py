"""What webhooks cost, and how many deliveries there are: `python -m benchmarks.webhooks`.

Deliveries go to a receiver on loopback in a process of its own. Calls of `learn` with and without three receivers take turns, in blocks, so that a
busy moment hits both; between two calls there is a pause, as in a program that does its work, so that deliveries are made meanwhile.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA
    from alma_events.webhooks import WebhookManager

EVENTS = 2_000
CALLS = 300
BLOCK = 10
PAUSE = 0.05
RECEIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from webhook_receiver import receiving
with receiving() as receiver:
    print(receiver.url, flush=True)
    sys.stdin.read()
"""
SUPPORT = Path(__file__).parents[1] / "tests" / "support"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    result: list[Gate] = []
    with receiver() as url:
        for measure, count in ((deliveries, options.events), (cost_of_receivers, options.calls)):
            with tempfile.TemporaryDirectory(prefix="webhooks-", dir=options.dir) as folder:
                result += measure(Path(folder), count, url)
    gates.show(console, result, f"Webhooks: {options.events} events, {options.calls} calls of learn each")
    if options.json:
        gates.write_json(options.json, result, events=options.events, calls=options.calls)
    gates.enforce(result)


@contextmanager
def receiver() -> Iterator[str]:
    """Runs a receiver in a process of its own, and yields its address."""
    command = [sys.executable, "-c", RECEIVER, str(SUPPORT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def open_store(folder: Path) -> "ALMA":
    """Opens the store of a measurement."""
    from alma import ALMA

    return ALMA.open(folder, project_id="shop", embedding_provider="hash")


def add_receivers(alma: "ALMA", url: str, count: int) -> "WebhookManager":
    """Returns a manager with receivers at one address."""
    from alma_events.webhooks import WebhookConfig, WebhookManager

    manager = WebhookManager(alma)
    for number in range(count):
        manager.add_webhook(WebhookConfig(f"{url}/{number}", ["memory.created"], allow_http=True, allow=["127.0.0.1"]))
    return manager


def deliveries(folder: Path, events: int, url: str) -> list[Gate]:
    """Measures how fast a backlog is delivered to one receiver."""
    with open_store(folder) as alma:
        manager = add_receivers(alma, url, 1)
        (endpoint,) = manager.endpoints.listed()
        for number in range(events):
            alma.learn("dev", f"task {number}", "success", "canary")
        began = perf_counter()
        manager.start()
        while not _is_done(manager, endpoint.id, events):
            sleep(0.05)
        seconds = perf_counter() - began
        manager.stop()
    return [Gate("deliveries to one receiver", events / seconds, "/s", limit=150.0, more_is_better=True)]


def _is_done(manager: "WebhookManager", endpoint: str, events: int) -> bool:
    counts = manager.endpoints.counts(endpoint)
    at_end = manager.endpoints.get(endpoint).position.seq >= events
    return at_end and not counts.get("pending", 0) + counts.get("retrying", 0)


def cost_of_receivers(folder: Path, calls: int, url: str) -> list[Gate]:
    """Measures `learn` with three receivers in the same process beside `learn` without any."""
    times: dict[bool, list[float]] = {False: [], True: []}
    with open_store(folder) as alma:
        manager = add_receivers(alma, url, 3)
        for number in range(2 * calls // BLOCK):
            is_delivering = number % 2 == 1
            if is_delivering:
                manager.start()
                sleep(1.0)  # what was learned meanwhile is delivered first
            times[is_delivering] += [_learn(alma, number * BLOCK + each) for each in range(BLOCK)]
            if is_delivering:
                manager.stop()
    without, delivering = (percentile(times[each], 0.5) for each in (False, True))
    return [
        Gate("learn, p50 without receivers", 1_000 * without, "ms"),
        Gate("with three receivers, times as long", delivering / without, "×", limit=1.03),
    ]


def _learn(alma: "ALMA", number: int) -> float:
    began = perf_counter()
    alma.learn("dev", f"task {number}", "success", "canary")
    seconds = perf_counter() - began
    sleep(PAUSE)
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webhooks", description=__doc__)
    parser.add_argument("--events", type=positive, default=EVENTS, metavar="N", help=f"of the backlog (default: {EVENTS})")
    parser.add_argument("--calls", type=positive, default=CALLS, metavar="N", help=f"of learn, of each sort (default: {CALLS})")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the stores are made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
