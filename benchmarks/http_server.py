"""What the HTTP API costs and what it stands: `python -m benchmarks.http_server --data FILE`.

Servers are processes of `alma serve` over a store of real texts. Processor time of a request is that of the server's processes, over many
requests of one client; beside it, that of the same calls of the library in a process of its own. Then many clients at once, a worker that is
killed, streams that wait, memory after many requests, the start and the end.
"""

import argparse
import asyncio
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.cold_start import AGENT, PROJECT, fill
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.texts import RealTexts

MEMORIES = 10_000
CALLS = 500
CLIENTS = 32
SECONDS = 60
STREAMS = 1_000
REQUESTS = 100_000
STARTS = 5
IDLE_SECONDS = 30
SETTLE_SECONDS = 5
"""After a start, until what the server loads beside its first requests is there."""
WARM_UP = 50
MIB = 1024 * 1024
TICKS = os.sysconf("SC_CLK_TCK")
LIBRARY = """
import json, sys, time
from alma import ALMA
config, agent, *_ = sys.argv[1:]
texts = json.load(sys.stdin)
with ALMA.from_config(config) as alma:
    for text in texts[:50]:
        alma.retrieve(task=text, agent=agent).to_prompt()
    cpu, times = time.process_time(), []
    for text in texts[50:]:
        began = time.perf_counter()
        alma.retrieve(task=text, agent=agent).to_prompt()
        times.append((time.perf_counter() - began) * 1000)
    print(json.dumps([(time.process_time() - cpu) * 1000 / len(times), times]))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    try:
        tasks = RealTexts(options.data).tasks(options.memories)
    except DataError as error:
        sys.exit(str(error))
    texts = [task.task for task in tasks]
    result: list[Gate] = []
    for name in options.parts:
        with tempfile.TemporaryDirectory(prefix="http-server-", dir=options.dir) as folder:
            fill(Path(folder), tasks, options.embedder)
            result += PARTS[name](Path(folder), texts, options)
            gates.show(wide_console(), result, f"HTTP API, {options.memories:,} memories, embedder {options.embedder}")
    if options.json:
        gates.write_json(options.json, result, memories=options.memories, embedder=options.embedder, calls=options.calls)
    gates.enforce(result)


def measure_requests(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Measures single requests, of one client, beside the library."""
    asked = [texts[number * 31 % len(texts)] for number in range(options.calls + WARM_UP)]
    library, library_times = _library(folder, asked)

    async def run() -> list[Gate]:
        with serving(folder, "--only", "api") as server:
            await asyncio.sleep(SETTLE_SECONDS)
            async with server.connect() as client:
                found, times = await _timed(server, client, "POST", f"{IN_PROJECT}/retrieve", [_task(text) for text in asked])
                learned, learn_times = await _timed(
                    server, client, "POST", f"{IN_PROJECT}/learn", [_outcome(text) for text in asked], status=201
                )
                nothing, _ = await _timed(server, client, "GET", "whoami", [None] * len(asked))
                checked, _ = await _timed(
                    server, client, "POST", f"{IN_PROJECT}/retrieve", [{"agent": AGENT}] * len(asked), status=422
                )
        return [
            Gate("a request that does nothing, processor", nothing, "ms", limit=2.0),
            Gate("a request with a body that is refused, processor", checked, "ms", limit=2.0),
            Gate("retrieve of the library, processor", library, "ms"),
            Gate("retrieve over HTTP beyond it, processor", found - library, "ms", limit=3.0),
            Gate("retrieve of the library, p95", percentile(library_times, 0.95), "ms"),
            Gate("retrieve over HTTP, p95 beyond it", percentile(times, 0.95) - percentile(library_times, 0.95), "ms", limit=8.0),
            Gate("learn over HTTP, processor", learned, "ms"),
            Gate("learn over HTTP, p95", percentile(learn_times, 0.95), "ms"),
        ]

    return asyncio.run(run())


def measure_crowd(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Has many clients learn and retrieve at once, then kills a worker while they do, and looks for every write that was acknowledged."""

    async def run() -> list[Gate]:
        with serving(folder, "--workers", "2") as server:
            calm, failed = await _crowd(server, texts, options.clients, options.seconds)
            killed = asyncio.create_task(_kill_one(server, after=2.0))
            rough, _ = await _crowd(server, texts, options.clients, 6.0, again=True)
            await killed
            await server.wait_until_ready()
            lost = await _count_lost(server, [*calm.ids, *rough.ids])
            doubled = len(calm.ids) + len(rough.ids) - len({*calm.ids, *rough.ids})
        times = calm.times
        return [
            Gate(
                f"errors of {options.clients} clients at once, {2 * len(times):,} calls in {options.seconds} s",
                failed,
                "",
                limit=0,
            ),
            Gate("their calls a second", 2 * len(times) / options.seconds, "", more_is_better=True),
            Gate("their learn and retrieve together, p95", percentile(times, 0.95), "ms"),
            Gate(f"acknowledged writes lost after a worker was killed, of {len(calm.ids) + len(rough.ids):,}", lost, "", limit=0),
            Gate("writes of one key that were carried out twice", doubled, "", limit=0),
        ]

    return asyncio.run(run())


def measure_workers(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Counts the reads a second of one process and of two, with clients in processes of their own."""
    rates = []
    for workers in (1, 2):
        with serving(folder, "--workers", str(workers)) as server:
            rates.append(_reads_a_second(server, texts, seconds=10.0))
    return [
        Gate("reads a second, one process", rates[0], "", more_is_better=True),
        Gate("reads a second of two processes, times as many", rates[1] / rates[0], "", limit=1.2, more_is_better=True),
    ]


def measure_streams(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Opens streams that wait, then ends the server."""

    async def run() -> list[Gate]:
        with serving(folder) as server:
            before = server.memory()
            streams = [await server.open_stream() for _ in range(options.streams)]
            await asyncio.sleep(2)
            grown, cpu, began = server.memory() - before, server.cpu(), perf_counter()
            await asyncio.sleep(IDLE_SECONDS)
            share = (server.cpu() - cpu) / (perf_counter() - began)
            async with server.connect() as client:
                began = perf_counter()
                await client.ask("POST", f"{IN_PROJECT}/learn", _outcome("a task that all streams see"))
                await asyncio.gather(*(stream.readuntil(b"data: ") for stream, _ in streams))
                spread = perf_counter() - began
            for _, writer in streams[50:]:
                writer.close()
            await asyncio.sleep(1)
            ended = server.stop()
        return [
            Gate(f"memory of {options.streams:,} streams that wait", grown / MIB, "MiB", limit=150),
            Gate("share of a core that they take", share * 100, "%", limit=5),
            Gate("from a write to an event at the last of them", spread * 1000, "ms"),
            Gate("the end of a server with 50 streams", ended, "s", limit=3),
        ]

    return asyncio.run(run())


def measure_memory(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Compares the memory of a server after many requests with that after a tenth of them."""

    async def run() -> list[Gate]:
        with serving(folder) as server:
            async with _clients(server, 8) as clients:
                await _many(clients, texts, options.requests // 10)
                early = server.memory()
                await _many(clients, texts, options.requests - options.requests // 10)
                late = server.memory()
        return [
            Gate(f"memory after {options.requests // 10:,} requests", early / MIB, "MiB"),
            Gate(f"after {options.requests:,}, times as much", late / early, "", limit=1.05),
        ]

    return asyncio.run(run())


def measure_start(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Times processes from before their start until they are ready. The first one reads the files."""
    times = []
    for _ in range(options.starts + 1):
        began = perf_counter()
        with serving(folder) as server:
            times.append(server.ready - began)
    return [Gate("a new process until it is ready", percentile(times[1:], 0.5), "s", limit=2.0)]


PARTS: dict[str, Callable[[Path, Sequence[str], argparse.Namespace], list[Gate]]] = {
    "requests": measure_requests,
    "start": measure_start,
    "streams": measure_streams,
    "workers": measure_workers,
    "crowd": measure_crowd,
    "memory": measure_memory,
}
IN_PROJECT = f"projects/{PROJECT}"


@dataclass
class Connection:
    """One connection that is kept, with as little work of its own as possible."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    token: str

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """Returns the status and the body of an answer. `OSError` or `IncompleteReadError` if the server goes away."""
        self.writer.write(request(method, path, self.token, body, **headers))
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        return int(head[9:12]), await self.reader.readexactly(int(length[1]) if length else 0)


def request(method: str, path: str, token: str, body: Any = None, **headers: str) -> bytes:
    """Returns the bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    sent = {"Host": "127.0.0.1", "Authorization": f"Bearer {token}", **headers}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items())
    address = path if path.startswith("/") else f"/v1/{path}"
    return f"{method} {address} HTTP/1.1\r\n{head}\r\n".encode() + content


@dataclass
class Server:
    """A process of `alma serve`, with those of its workers."""

    process: subprocess.Popen[str]
    port: int
    token: str
    ready: float = 0.0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Yields a connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Connection(reader, writer, self.token)
        finally:
            writer.close()

    async def open_stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Returns a stream of events that has begun."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request("GET", f"{IN_PROJECT}/events", self.token, Accept="text/event-stream"))
        await reader.readuntil(b"retry: ")
        return reader, writer

    async def wait_until_ready(self) -> None:
        """Waits until the server says that it is ready."""
        while True:
            try:
                async with self.connect() as client:
                    if (await client.ask("GET", "/health/ready"))[0] == 200:
                        self.ready = perf_counter()
                        return
            except (OSError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(0.02)

    def processes(self) -> list[int]:
        """Returns the ids of the process and its workers."""
        own = self.process.pid
        return [own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())]

    def cpu(self) -> float:
        """Returns the seconds of processor time so far."""
        spent = 0
        for each in self.processes():
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            spent += int(fields[11]) + int(fields[12])
        return spent / TICKS

    def memory(self) -> int:
        """Returns the bytes of memory that are in use."""
        found = 0
        for each in self.processes():
            status = Path(f"/proc/{each}/status").read_text()
            found += int(status.partition("VmRSS:")[2].split()[0]) * 1024
        return found

    def stop(self) -> float:
        """Asks the server to end. Returns how long it took."""
        began = perf_counter()
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=60)[1]
        if "Traceback" in said:
            raise RuntimeError(said)
        return perf_counter() - began


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    """Yields a server over the store in a folder once it is ready; its process is killed at the end."""
    from alma_access import Access, TokenFile

    config, tokens = folder / "config.yaml", TokenFile(folder)
    settings = {"project_id": PROJECT, "storage_dir": str(folder)}
    config.write_text(json.dumps(settings), encoding="utf-8")
    if "benchmark" in tokens.tokens():
        tokens.revoke("benchmark")
    secret = tokens.add("benchmark", Access())
    command = [sys.executable, "-m", "alma", "serve", "-c", str(config), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "listening on" in line)
        server = Server(process, int(line.rpartition(":")[2]), secret)
        _run_apart(server.wait_until_ready)
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _run_apart(call: Callable[[], Any]) -> None:
    """Runs a coroutine to its end, also from within a loop."""
    thread = threading.Thread(target=lambda: asyncio.run(call()))
    thread.start()
    thread.join(120)
    if thread.is_alive():
        raise RuntimeError("the server did not become ready")


def _library(folder: Path, texts: Sequence[str]) -> tuple[float, list[float]]:
    """Returns the processor time of a retrieval by the library, and the times of all."""
    config = folder / "config.yaml"
    config.write_text(json.dumps({"project_id": PROJECT, "storage_dir": str(folder)}), encoding="utf-8")
    command = [sys.executable, "-c", LIBRARY, str(config), AGENT]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    cpu, times = json.loads(done.stdout)
    return cpu, times


async def _timed(
    server: Server, client: Connection, method: str, path: str, bodies: Sequence[Any], *, status: int = 200
) -> tuple[float, list[float]]:
    """Returns the processor time of a request in ms, and the times of all, without those that warm up."""
    times, cpu = [], 0.0
    for number, body in enumerate(bodies):
        if number == WARM_UP:
            cpu = server.cpu()
        began = perf_counter()
        answered, content = await client.ask(method, path, body)
        times.append((perf_counter() - began) * 1000)
        if answered != status:
            raise RuntimeError(f"{path} answered {answered}: {content[:500]!r}")
    kept = times[WARM_UP:]
    return (server.cpu() - cpu) * 1000 / len(kept), kept


@dataclass
class Crowd:
    """The ids of what clients were told is stored, and the times of a learning and a retrieval."""

    ids: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


async def _crowd(server: Server, texts: Sequence[str], clients: int, seconds: float, *, again: bool = False) -> tuple[Crowd, int]:
    """Returns what clients at once did, and the calls that failed. With `again`, a client whose server went away sends its write again."""
    crowd, failed, end = Crowd(), 0, perf_counter() + seconds

    async def work(first: int) -> None:
        nonlocal failed
        number, key = first, 0
        while perf_counter() < end:
            try:
                async with server.connect() as client:
                    while perf_counter() < end:
                        began, text = perf_counter(), texts[number * 17 % len(texts)]
                        sent = {"Idempotency_Key": f"{first}-{key}-{again}"}
                        status, body = await client.ask("POST", f"{IN_PROJECT}/learn", _outcome(text), **sent)
                        if status == 201:
                            crowd.ids.append(json.loads(body)["id"])
                            key += 1
                        elif again and status == 409:  # the killed worker had begun it
                            await asyncio.sleep(0.2)
                            continue
                        else:
                            failed += 1
                        status, _ = await client.ask("POST", f"{IN_PROJECT}/retrieve", _task(text))
                        failed += status != 200
                        number += clients
                        crowd.times.append((perf_counter() - began) * 1000)
            except (OSError, asyncio.IncompleteReadError):
                if not again:
                    failed += 1
                await asyncio.sleep(0.05)

    await asyncio.gather(*(work(first) for first in range(clients)))
    return crowd, failed


async def _kill_one(server: Server, *, after: float) -> None:
    """Kills a process that serves."""
    await asyncio.sleep(after)
    serving = [each for each in server.processes()[1:] if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
    os.kill(serving[-1], signal.SIGKILL)


async def _count_lost(server: Server, ids: Sequence[str]) -> int:
    """Returns how many of the memories cannot be read."""
    async with server.connect() as client:
        statuses = [(await client.ask("GET", f"{IN_PROJECT}/memories/{memory}?agent={AGENT}"))[0] for memory in ids]
    return sum(status != 200 for status in statuses)


def _reads_a_second(server: Server, texts: Sequence[str], *, seconds: float) -> float:
    """Returns how many retrievals a second 16 clients in a process of their own get."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_read, server.port, server.token, list(texts[:500]), seconds).result() / seconds


def _read(port: int, token: str, texts: list[str], seconds: float) -> int:
    """Returns how many retrievals 16 clients got."""

    async def work(first: int, end: float) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        client, number = Connection(reader, writer, token), first
        while perf_counter() < end:
            await client.ask("POST", f"{IN_PROJECT}/retrieve", _task(texts[number * 17 % len(texts)]))
            number += 16
        writer.close()
        return (number - first) // 16

    async def run() -> int:
        end = perf_counter() + seconds
        return sum(await asyncio.gather(*(work(first, end) for first in range(16))))

    return asyncio.run(run())


@asynccontextmanager
async def _clients(server: Server, count: int) -> AsyncIterator[list[Connection]]:
    pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(count)]
    try:
        yield [Connection(reader, writer, server.token) for reader, writer in pairs]
    finally:
        for _, writer in pairs:
            writer.close()


async def _many(clients: Sequence[Connection], texts: Sequence[str], count: int) -> None:
    """Sends requests: of twenty, one learns, five retrieve, the rest do nothing."""

    async def work(client: Connection, numbers: range) -> None:
        for number in numbers:
            text = texts[number * 7 % 1_000 % len(texts)]
            if number % 20 == 0:
                await client.ask("POST", f"{IN_PROJECT}/check", {"agent": AGENT, "action": text})
            elif number % 4 == 1:
                await client.ask("POST", f"{IN_PROJECT}/retrieve", _task(text))
            else:
                await client.ask("GET", "whoami")

    await asyncio.gather(*(work(client, range(first, count, len(clients))) for first, client in enumerate(clients)))


def _task(text: str) -> dict[str, Any]:
    return {"task": text, "agent": AGENT}


def _outcome(text: str) -> dict[str, Any]:
    return {"task": text, "agent": AGENT, "outcome": "success", "strategy_used": "as before"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http_server", description=__doc__)
    add = functools.partial(parser.add_argument)
    add("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what is measured (default: all)")
    add("--memories", type=positive, default=MEMORIES, metavar="N", help=f"in the store (default: {MEMORIES:,})")
    add("--calls", type=positive, default=CALLS, help=f"requests of each sort (default: {CALLS})")
    add("--clients", type=positive, default=CLIENTS, help=f"clients at once (default: {CLIENTS})")
    add("--seconds", type=positive, default=SECONDS, help=f"how long they work (default: {SECONDS})")
    add("--streams", type=positive, default=STREAMS, help=f"streams that wait (default: {STREAMS:,})")
    add("--requests", type=positive, default=REQUESTS, help=f"for the memory (default: {REQUESTS:,})")
    add("--starts", type=positive, default=STARTS, help=f"processes to start (default: {STARTS})")
    add("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    add("--dir", type=Path, metavar="FOLDER", help="where the store is made")
    add("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
