"""A server of ArcadeDB, of the wheel `arcadedb-embedded`, in a process of its own. It speaks Bolt, the protocol of Neo4j."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD, DATABASE = "root", "a password of the tests", "graph"

_SERVER = """
import sys, arcadedb_embedded
folder, http, bolt, password, database = sys.argv[1:]
plugin = "Bolt:com.arcadedb.bolt.BoltProtocolPlugin"
config = {"http_port": int(http), "server_plugins": plugin, "bolt_port": int(bolt), "host": "127.0.0.1"}
server = arcadedb_embedded.create_server(folder, root_password=password, config=config)
server.start()
server.create_database(database)
print("ready", flush=True)
sys.stdin.read()
server.stop()
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URI of a server."""
    http, bolt = _free_port(), _free_port()
    command = [sys.executable, "-c", _SERVER, str(folder / "server"), str(http), str(bolt), PASSWORD, DATABASE]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            _wait(server, bolt, folder / "log")
            yield f"bolt://127.0.0.1:{bolt}"
        finally:
            server.kill()
            server.communicate(timeout=30)


def _wait(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    assert server.stdout is not None
    said = next((line for line in server.stdout if line.strip() == b"ready"), None)
    assert said is not None, log.read_text("utf-8", "replace")[-2_000:]
    for _ in range(100):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server speaks no Bolt")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
