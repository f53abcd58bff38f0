"""A service that answers in the forms of Amazon Neptune's Data API, with a graph of FalkorDB behind it, where ids (`~id`) are a property."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import falkordb_server

KEY_ID = "AKIAOFTHETESTS"
"""Whoever signs with another key is refused."""


@contextmanager
def served(socket: Path) -> Iterator[str]:
    """The endpoint of a service over a server of FalkorDB. Signatures are not verified, only whose they are."""
    import falkordb

    graph = falkordb.FalkorDB(unix_socket_path=str(socket), password=falkordb_server.PASSWORD).select_graph("neptune")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if f"Credential={KEY_ID}/" not in self.headers.get("Authorization", ""):
                self.answer(403, {"code": "AccessDeniedException", "detailedMessage": "not allowed", "requestId": "1"})
                return
            assert self.path == "/opencypher"
            self.answer(200, {"results": run(graph, asked["query"], json.loads(asked.get("parameters", "{}")))})

        def answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status != 200:
                self.send_header("x-amzn-ErrorType", body["code"])
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None: ...  # noqa: A002 - the name that http.server gives it

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(graph: Any, query: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    found = graph.query(query.replace("`~id`: row.key", "key: row.key").replace("`~id`", "key"), parameters)
    return [dict(zip((name for _, name in found.header), row, strict=True)) for row in found.result_set]
