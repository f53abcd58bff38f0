"""What one machine serves over HTTP: `python -m benchmarks.http_server --data FILE`.

`alma serve` runs in processes of its own over a store of real texts. Measured are the time of single requests and the processor's time that the
server takes for them, beside that of the same calls in the library; reads a second of one process and of two; clients that learn and retrieve
at once until the server is killed, after which every acknowledged write is looked up; open streams of events that are idle; and the end of a
server with open streams. The clients are one process on the same machine, as lean as may be: what they take, the server lacks.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from alma import ALMA
from alma.errors import MemoryNotFoundError
from alma_access import Access, TokenFile
from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.cold_start import AGENT, PROJECT, fill
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.texts import RealTexts

MEMORIES = 2_000
CALLS = 300
SECONDS = 60
CLIENTS = 32
READERS = 8
STREAMS = 1_000
STREAMS_AT_THE_END = 50
WARM_UP = 20
MIB = 1024 * 1024
TICK = os.sysconf("SC_CLK_TCK")
PATH = f"/v1/projects/{PROJECT}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        tasks = RealTexts(options.data).tasks(options.memories)
        with tempfile.TemporaryDirectory(prefix="http-server-", dir=options.dir) as folder:
            fill(Path(folder), tasks, options.embedder)
            result = measure(Path(folder), [task.task for task in tasks], options)
    except DataError as error:
        sys.exit(str(error))
    gates.show(console, result, f"HTTP server, {options.memories:,} memories, embedder {options.embedder}")
    if options.json:
        gates.write_json(options.json, result, memories=options.memories, embedder=options.embedder, seconds=options.seconds)
    gates.enforce(result)


def measure(folder: Path, texts: Sequence[str], options: argparse.Namespace) -> list[Gate]:
    """Starts servers over a store, one after the other, and measures each."""
    config = folder / "config.yaml"
    config.write_text(json.dumps({"project_id": PROJECT, "storage_dir": str(folder), "embedding_provider": options.embedder}))
    secret = TokenFile(folder).add("benchmark", Access())
    found: list[Gate] = []
    with serving(config, secret) as server:
        found += asyncio.run(_one_at_a_time(server, folder, texts, options.calls))
        one = asyncio.run(_reads(server, texts, options.seconds / 4))
    with serving(config, secret, "--workers", "2") as server:
        two = asyncio.run(_reads(server, texts, options.seconds / 4))
    found += [
        Gate(f"reads a second of {READERS} clients, one process", one, "/s", more_is_better=True),
        Gate("the same, two processes", two, "/s", reference=one, is_same_run=True, more_is_better=True),
    ]
    with serving(config, secret) as server:
        found += asyncio.run(_idle_streams(server, options.streams, options.seconds / 3))
    with serving(config, secret) as server:
        found.append(asyncio.run(_end(server)))
    with serving(config, secret) as server:
        failed, times, ids = asyncio.run(_at_once(server, texts, options.seconds))
        os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()
    return [*found, *_of_at_once(failed, times, ids, folder, options.seconds)]


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is ready, with its port and a token."""

    process: "subprocess.Popen[str]"
    port: int
    secret: str

    def processes(self) -> list[int]:
        """Returns the ids of the processes that serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def processor(self) -> float:
        """Returns the seconds of processor that the server has taken."""
        fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in self.processes()]
        return sum(int(each[11]) + int(each[12]) for each in fields) / TICK

    def memory(self) -> float:
        """Returns the memory that the server holds, in bytes."""
        texts = [Path(f"/proc/{each}/statm").read_text().split()[1] for each in self.processes()]
        return sum(map(int, texts)) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(config: Path, secret: str, *options: str) -> Iterator[Server]:
    """Yields a server of a configuration, once it is ready. Kills it at the end."""
    command = [sys.executable, "-m", "alma", "serve", "--config", str(config), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr is not None
        address = next((line for line in process.stderr if "listening on" in line), "")
        server = Server(process, int(address.rpartition(":")[2]), secret)
        asyncio.run(_until_ready(server))
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def _until_ready(server: Server) -> None:
    async with asyncio.timeout(120), connected(server) as ask:
        while (await ask("GET", "/health/ready"))[0] != 200:
            await asyncio.sleep(0.05)


Ask = Callable[..., Awaitable[tuple[int, bytes]]]


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Ask]:
    """Yields a function that asks over one connection, which is kept, and returns the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)

    async def ask(method: str, path: str, body: object = None) -> tuple[int, bytes]:
        writer.write(_request(server, method, path, body))
        return await _answer(reader)

    try:
        yield ask
    finally:
        writer.close()


def _request(server: Server, method: str, path: str, body: object, accept: str = "application/json") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.secret}\r\nAccept: {accept}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return f"{head}\r\n".encode() + content


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return int(head.split()[1]), await reader.readexactly(int(length))


async def _one_at_a_time(server: Server, folder: Path, texts: Sequence[str], calls: int) -> list[Gate]:
    """Times requests that do nothing, read and write, and the same calls of the library in this process."""
    asked = texts[: calls + WARM_UP]
    async with connected(server) as ask:
        nothing = await _series(server, [lambda: ask("GET", "/v1/whoami") for _ in asked])
        read = await _series(server, [lambda text=text: ask("POST", f"{PATH}/retrieve", _question(text)) for text in asked])
        written = await _series(server, [lambda text=text: ask("POST", f"{PATH}/learn", _outcome(text)) for text in asked])
    with ALMA.open(folder, project_id=PROJECT) as alma:
        reading = _library([lambda text=text: alma.retrieve(**_question(text)) for text in asked])
        writing = _library([lambda text=text: alma.learn(**_outcome(text)) for text in asked])
    return [
        Gate("a request that does nothing, median", percentile(nothing.times, 0.5), "ms"),
        Gate("its time of processor", nothing.processor, "ms", limit=2),
        Gate("a retrieval, median", percentile(read.times, 0.5), "ms"),
        Gate("the same, p95", percentile(read.times, 0.95), "ms"),
        Gate(
            "its time of processor beyond the library's",
            read.processor - reading,
            "ms",
            limit=3,
            reference=reading,
            is_same_run=True,
        ),
        Gate("a learning, median", percentile(written.times, 0.5), "ms"),
        Gate("the same, p95", percentile(written.times, 0.95), "ms"),
        Gate(
            "its time of processor beyond the library's",
            written.processor - writing,
            "ms",
            limit=3,
            reference=writing,
            is_same_run=True,
        ),
    ]


@dataclass(frozen=True, slots=True)
class Series:
    """Times of requests and the server's mean time of processor for one, in milliseconds."""

    times: list[float]
    processor: float


async def _series(server: Server, requests: Sequence[Callable[[], Awaitable[tuple[int, bytes]]]]) -> Series:
    times: list[float] = []
    taken = 0.0
    for number, request in enumerate(requests):
        if number == WARM_UP:
            taken = server.processor()
        began = perf_counter()
        _check(*await request())
        times.append((perf_counter() - began) * 1000)
    return Series(times[WARM_UP:], (server.processor() - taken) * 1000 / (len(times) - WARM_UP))


def _library(calls: Sequence[Callable[[], object]]) -> float:
    """Returns the mean time of processor of calls, in milliseconds."""
    for call in calls[:WARM_UP]:
        call()
    began = process_time()
    for call in calls[WARM_UP:]:
        call()
    return (process_time() - began) * 1000 / (len(calls) - WARM_UP)


async def _reads(server: Server, texts: Sequence[str], seconds: float) -> float:
    """Returns the retrievals a second of several clients."""
    done = 0

    async def read(first: int, end: float) -> None:
        nonlocal done
        async with connected(server) as ask:
            for number in count(first, READERS):
                _check(*await ask("POST", f"{PATH}/retrieve", _question(texts[number * 17 % len(texts)])))
                if perf_counter() > end:
                    return
                done += 1

    await asyncio.gather(*(read(first, perf_counter() + 2) for first in range(READERS)))
    done, began = 0, perf_counter()
    await asyncio.gather(*(read(first, began + seconds) for first in range(READERS)))
    return done / (perf_counter() - began)


async def _at_once(server: Server, texts: Sequence[str], seconds: float) -> tuple[int, list[float], list[str]]:
    """Has clients learn and retrieve for a time. Returns how many requests failed, the times of the pairs, and the ids that were stored."""
    failed, times, ids = 0, [], []
    end = perf_counter() + seconds

    async def work(first: int) -> None:
        nonlocal failed
        async with connected(server) as ask:
            for number in count(first, CLIENTS):
                began = perf_counter()
                text = texts[number * 17 % len(texts)]
                status, body = await ask("POST", f"{PATH}/learn", _outcome(text))
                found, _ = await ask("POST", f"{PATH}/retrieve", _question(text))
                failed += (status != 201) + (found != 200)
                if status == 201:
                    ids.append(json.loads(body)["id"])
                times.append((perf_counter() - began) * 1000)
                if perf_counter() > end:
                    return

    await asyncio.gather(*map(work, range(CLIENTS)))
    return failed, times, ids


def _of_at_once(failed: int, times: list[float], ids: list[str], folder: Path, seconds: float) -> list[Gate]:
    with ALMA.open(folder, project_id=PROJECT) as alma:
        gone = sum(not _is_there(alma, each) for each in ids)
    return [
        Gate(f"errors of {CLIENTS} clients at once in {seconds:g} s", failed, "", limit=0),
        Gate("their learnings and retrievals a second", 2 * len(times) / seconds, "/s", more_is_better=True),
        Gate("a learning and a retrieval together, median", percentile(times, 0.5), "ms"),
        Gate("the same, p95", percentile(times, 0.95), "ms"),
        Gate("acknowledged writes that are gone after kill -9", gone, "", limit=0),
    ]


def _is_there(alma: ALMA, memory_id: str) -> bool:
    try:
        alma.get(memory_id)
    except MemoryNotFoundError:
        return False
    return True


async def _idle_streams(server: Server, streams: int, seconds: float) -> list[Gate]:
    """Opens streams and waits. Returns the memory that they take, and the share of a processor."""
    before = server.memory()
    opened = await _open_streams(server, streams)
    await asyncio.sleep(2)
    taken, began = server.processor(), perf_counter()
    await asyncio.sleep(seconds)
    share = (server.processor() - taken) / (perf_counter() - began) * 100
    grown = (server.memory() - before) / MIB
    for writer in opened:
        writer.close()
    return [
        Gate(f"memory of {streams:,} idle streams", grown, "MiB", limit=150),
        Gate("their share of a processor", share, "%", limit=5),
    ]


async def _end(server: Server) -> Gate:
    """Returns how long a server with open streams takes to end."""
    await _open_streams(server, STREAMS_AT_THE_END)
    began = perf_counter()
    server.process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(server.process.wait)
    return Gate(f"the end of a server with {STREAMS_AT_THE_END} open streams", perf_counter() - began, "s", limit=3)


async def _open_streams(server: Server, streams: int) -> list[asyncio.StreamWriter]:
    opened = []
    for _ in range(streams):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(_request(server, "GET", f"{PATH}/events", None, accept="text/event-stream"))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head:
            raise RuntimeError(head.decode())
        opened.append(writer)
    return opened


def _question(text: str) -> dict[str, Any]:
    return {"task": text, "agent": AGENT}


def _outcome(text: str) -> dict[str, Any]:
    return {"task": text, "agent": AGENT, "outcome": "success", "strategy_used": "as before"}


def _check(status: int, body: bytes) -> None:
    if status not in (200, 201):
        raise RuntimeError(f"{status}: {body[:500].decode()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http_server", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--memories", type=positive, default=MEMORIES, metavar="N", help=f"in the store (default: {MEMORIES:,})")
    parser.add_argument("--calls", type=positive, default=CALLS, help=f"requests of each sort, one at a time (default: {CALLS})")
    parser.add_argument("--seconds", type=positive, default=SECONDS, help=f"time that clients ask at once (default: {SECONDS})")
    parser.add_argument("--streams", type=positive, default=STREAMS, help=f"idle streams of events (default: {STREAMS:,})")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the store is made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
