"""A local server that speaks OpenAI's `/embeddings` endpoint, and misbehaves on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from alma.embedding import HashEmbedder

DIMENSION = 16


@dataclass(frozen=True, slots=True)
class Request:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """The texts that were to be embedded."""
        texts: list[str] = self.body["input"]
        return texts


Behaviour = Callable[["Answering", Request], None]


class Answering(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.server.state.requests.append(request)
        script = self.server.state.script
        (script.pop(0) if script else answer_well)(self, request)

    def send(self, content: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    state: "EmbeddingServer"


@dataclass
class EmbeddingServer:
    """Records the requests, and queues the next answers; afterwards all answers are valid."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    script: list[Behaviour] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> _Server:
        server = _Server(("127.0.0.1", self.port), Answering)
        server.state, self.port = self, server.server_port
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """A server that answers until the end of the block."""
    state = EmbeddingServer()
    server = state.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()


def vectors_of(texts: list[str], dimension: int = DIMENSION) -> list[list[float]]:
    """Vectors that are not of length 1."""
    return [[3.0 * float(value) for value in row] for row in HashEmbedder(dimension).embed(texts)]


def good_answer(request: Request) -> dict[str, Any]:
    vectors = vectors_of(request.texts, request.body.get("dimensions", DIMENSION))
    items = [{"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)]
    return {"object": "list", "data": items, "model": request.body.get("model", "deployed"), "usage": {"total_tokens": 1}}


def answer_well(handler: Answering, request: Request) -> None:
    handler.send(json.dumps(good_answer(request)).encode())


def backwards(handler: Answering, request: Request) -> None:
    """Returns vectors in another order than that of the texts; only `index` shows it."""
    answer = good_answer(request)
    handler.send(json.dumps({**answer, "data": answer["data"][::-1]}).encode())


def status(code: int, message: str = "", *, error_code: str | None = None, **headers: str) -> Behaviour:
    """Returns an error in OpenAI's format."""

    def fail(handler: Answering, _: Request) -> None:
        content = json.dumps({"error": {"message": message, "code": error_code, "type": "x"}}).encode()
        handler.send(content, status=code, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return fail


def says(content: bytes, *, code: int = 200) -> Behaviour:
    """Any bytes."""
    return lambda handler, _: handler.send(content, status=code)


def changed(change: Callable[[list[dict[str, Any]]], Any]) -> Behaviour:
    """A good answer whose `data` was changed, or replaced by what `change` returns."""

    def answer(handler: Answering, request: Request) -> None:
        good = good_answer(request)
        replaced = change(good["data"])
        handler.send(json.dumps({**good, "data": good["data"] if replaced is None else replaced}).encode())

    return answer


def silence(handler: Answering, _: Request) -> None:
    """No answer as long as the server lives."""
    handler.server.state.ended.wait()
    handler.close_connection = True


def hang_up(handler: Answering, _: Request) -> None:
    """The connection ends in the middle of an answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True
