"""What events cost and how soon they are there: `python -m benchmarks.events`.

Calls of `learn` with and without subscribers take turns in one process, so that a busy moment hits both. Latency is from the return of `learn` in
the writer until the event is handed to its reader; across processes, by the system's monotonic clock.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import CLOCK_MONOTONIC, clock_gettime, perf_counter, sleep
from typing import TYPE_CHECKING

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA

CALLS = 300
BLOCK = 10
WARM = 40
AGENT = "dev"
WRITER = """
import sys
from time import CLOCK_MONOTONIC, clock_gettime
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash", storage=sys.argv[2]) as alma:
    for line in sys.stdin:
        alma.learn("dev", line.strip(), "success", "canary")
        print(clock_gettime(CLOCK_MONOTONIC), flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    result: list[Gate] = []
    for measure in (cost_of_a_subscriber, latency_in_process, latency_across_processes):
        with tempfile.TemporaryDirectory(prefix="events-", dir=options.dir) as folder:
            result += measure(Path(folder), options.calls, options.storage)
    gates.show(console, result, f"Events on {options.storage}, {options.calls} calls of learn each")
    if options.json:
        gates.write_json(options.json, result, calls=options.calls, storage=options.storage)
    gates.enforce(result)


def open_store(folder: Path, storage: str) -> "ALMA":
    """Opens the store of a measurement."""
    from alma import ALMA

    return ALMA.open(folder, project_id="shop", embedding_provider="hash", storage=storage)


def cost_of_a_subscriber(folder: Path, calls: int, storage: str) -> list[Gate]:
    """Measures `learn` without subscribers, with one of memories and with one of everything, in blocks by turns."""
    from alma.events import MemoryEventType, get_emitter, reset_emitter

    def nothing(_: object) -> None:
        pass

    ways: dict[str, Callable[[], object]] = {
        "without": lambda: None,
        "one": lambda: get_emitter().subscribe(MemoryEventType.CREATED, nothing),
        "all": lambda: get_emitter().subscribe_all(nothing),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    with open_store(folder, storage) as alma:
        write(alma, WARM, "warm")
        for block in range(calls // BLOCK):
            for name, subscribe in ways.items():
                subscribe()
                write(alma, 1, f"{block} {name} first")  # threads start with the first event
                times[name] += write(alma, BLOCK, f"{block} {name}")
                get_emitter().flush()
                reset_emitter()
    plain = percentile(times["without"], 0.5)
    return [
        Gate("learn, p50 without subscribers", 1000 * plain, "ms"),
        Gate("with one of created memories, times as long", percentile(times["one"], 0.5) / plain, "×", limit=1.05),
        Gate("with one of everything, rules and retrievals too", percentile(times["all"], 0.5) / plain, "×"),
    ]


def write(alma: "ALMA", count: int, about: str) -> list[float]:
    """Learns outcomes one by one and returns the seconds of each call."""
    times = []
    for number in range(count):
        start = perf_counter()
        alma.learn(AGENT, f"Deploy the service {about} {number}", "success", f"canary {number % 7}")
        times.append(perf_counter() - start)
    return times


def latency_in_process(folder: Path, calls: int, storage: str) -> list[Gate]:
    """Measures from the return of `learn` until a subscriber, and a reader that follows, have the event."""
    from alma.events import MemoryEventType, get_emitter, reset_emitter

    with open_store(folder, storage) as alma:
        events = alma.events(follow=True)
        called: list[float] = []
        followed: list[float] = []
        reader = threading.Thread(target=lambda: followed.extend(perf_counter() for _ in events))
        reader.start()
        get_emitter().subscribe(MemoryEventType.CREATED, lambda _: called.append(perf_counter()))
        written = []
        for number in range(calls):
            write(alma, 1, str(number))
            written.append(perf_counter())
            sleep(0.01)
        get_emitter().flush()
        while len(followed) < calls:
            sleep(0.01)
        events.close()
        reader.join()
        reset_emitter()
    return [
        *_latency("to a subscriber in process", written, called, limit=20),
        *_latency("to a reader in process", written, followed, limit=20),
    ]


def latency_across_processes(folder: Path, calls: int, storage: str) -> list[Gate]:
    """Measures from the return of `learn` in one process until a reader in another has the event."""
    written: list[float] = []
    seen: list[float] = []
    command = [sys.executable, "-c", WRITER, str(folder), storage]
    with (
        open_store(folder, storage) as alma,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer,
    ):
        assert writer.stdin is not None
        assert writer.stdout is not None
        events = alma.events(follow=True)
        for number in range(max(calls // 5, 20)):
            sleep(0.001 * (number * 37 % 100))  # the writes fall on all parts of the reader's pause
            writer.stdin.write(f"Deploy {number}\n")
            writer.stdin.flush()
            next(events)
            seen.append(clock_gettime(CLOCK_MONOTONIC))
            written.append(float(writer.stdout.readline()))
        writer.stdin.close()
        events.close()
    return _latency("to a reader in another process", written, seen, limit=300)


def _latency(what: str, written: Sequence[float], seen: Sequence[float], *, limit: float) -> list[Gate]:
    spent = [max(1000 * (end - start), 0.0) for start, end in zip(written, seen, strict=True)]
    return [
        Gate(f"{what}, p50", percentile(spent, 0.5), "ms"),
        Gate(f"{what}, p95", percentile(spent, 0.95), "ms", limit=limit),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__)
    parser.add_argument("--calls", type=positive, default=CALLS, metavar="N", help=f"of learn, of each sort (default: {CALLS})")
    parser.add_argument("--storage", default="sqlite", help="kind of store, or its URL (default: sqlite)")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the stores are made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
