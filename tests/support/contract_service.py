"""A service on loopback that speaks the protocol of a real one and checks every request."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from alma.protocols import CandidateFactory, CandidateSearch, VectorsRequest
from alma_testing.contracts.candidate_search import DIMENSION
from alma_testing.fakes import MockEmbedder


@contextmanager
def searches_of(folder: Path, open_search: CandidateFactory) -> Iterator[Callable[..., Any]]:
    """Gives a function that opens searches of one project, all of which are closed at the end."""
    made: list[CandidateSearch] = []

    def open_it(options: dict[str, object], dimension: int = DIMENSION) -> CandidateSearch:
        fingerprint = MockEmbedder(dimension).fingerprint
        made.append(open_search(VectorsRequest(str(folder), "d1", "shop", fingerprint, options, lambda seq: f"head {seq}")))
        return made[-1]

    yield open_it
    for search in made:
        search.close()


class RefusedError(Exception):
    """A request that the real service would refuse. `is_wanted` marks those that a client may make on purpose."""

    def __init__(self, status: int, message: str, *, is_wanted: bool = False) -> None:
        super().__init__(message)
        self.status, self.is_wanted = status, is_wanted


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    verb: str
    path: str
    parameters: Mapping[str, list[str]]
    headers: Message
    raw: bytes
    body: Any


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ContractService:
    """Serves until it is stopped; started again, it has the same port. `mistakes` lists what a client should not have asked for."""

    def __init__(self) -> None:
        self.port = 0
        self.mistakes: list[str] = []
        self.seen: list[tuple[str, str]] = []
        self.troubles: list[Answer] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def answer(self, request: Request) -> Answer:
        """Answers one request. `RefusedError` if the real service would refuse it."""
        raise NotImplementedError

    def refusal(self, error: RefusedError) -> Answer:
        """A refusal in the service's own form."""
        return Answer(error.status, {"message": str(error)})

    def trouble(self, answer: Answer, times: int = 1) -> None:
        """Has the next requests answered so, unread."""
        self.troubles += [answer] * times

    def start(self) -> None:
        """Begins to serve."""
        service = self

        class Handler(_Handler):
            def reply(self, request: Request) -> Answer:
                return service._reply(request)

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Ends serving and breaks all connections. What it holds stays."""
        if self._server is not None:
            for connection in list(_Handler.connections):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _reply(self, request: Request) -> Answer:
        with self._lock:
            self.seen.append((request.verb, request.path))
            if self._server is None:  # a connection that outlived the service
                return Answer(503)
            if self.troubles:
                return self.troubles.pop(0)
            try:
                return self.answer(request)
            except RefusedError as error:
                if not error.is_wanted:
                    self.mistakes.append(f"{request.verb} {request.path}: {error}")
                return self.refusal(error)
            except Exception as error:
                self.mistakes.append(f"{request.verb} {request.path}: {error!r}")
                raise


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections: ClassVar[set[socket.socket]] = set()
    reply: Callable[[Any, Request], Answer]

    def setup(self) -> None:
        super().setup()
        self.connections.add(self.connection)

    def finish(self) -> None:
        self.connections.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        answer = self.reply(Request(self.command, unquote(parts.path), parse_qs(parts.query), self.headers, raw, body))
        sent = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(sent)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""
