"""A receiver of webhooks on loopback: it keeps the requests that it gets, and answers as a test says."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import loads
from typing import Any


@dataclass(frozen=True, slots=True)
class Got:
    """A request."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = loads(self.body)
        return event


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request is answered."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Receiver:
    """The requests so far, and how the next ones are answered."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.answer: Callable[[Got], Reply] = lambda _: Reply()
        self._changed = threading.Condition()
        self.url = ""

    def take(self, got: Got) -> Reply:
        reply = self.answer(got)
        with self._changed:
            self.got.append(got)
            self._changed.notify_all()
        return reply

    def wait_for(self, count: int, *, seconds: float = 30.0) -> list[Got]:
        """Returns the requests as soon as there are `count`. Fails after some time."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.got) >= count, seconds):
                raise AssertionError(f"{len(self.got)} of {count} requests came in {seconds} s")
            return list(self.got)

    @property
    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.got]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Runs a receiver on a free port of loopback."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(size := int(self.headers["content-length"]))
            if len(body) < size:  # its sender was killed
                return
            reply = receiver.take(Got(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            head = {"content-length": str(len(reply.body)), **reply.headers}
            lines = [f"HTTP/1.1 {reply.status} said", *(f"{name}: {value}" for name, value in head.items()), "", ""]
            self.wfile.write("\r\n".join(lines).encode() + reply.body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A sender that hung up is no failure."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        try:
            yield receiver
        finally:
            server.shutdown()
