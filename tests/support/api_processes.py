"""`alma serve` as a process, and what its clients need."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from alma_access import Access, TokenFile
from mcp_servers import make_project

READY_SECONDS = 60.0


@dataclass
class Server:
    """A process of `alma serve` that listens, with a token for all."""

    process: subprocess.Popen[str]
    address: str
    token: str
    folder: Path
    said: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **settings: Any) -> httpx.Client:
        """Returns a client with the token."""
        return httpx.Client(base_url=self.address, headers=self.headers, timeout=60.0, trust_env=False, **settings)

    def stop(self) -> tuple[int, str, float]:
        """Asks the process to end. Returns its exit code, the rest of what it said, and how long it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said, time.monotonic() - began

    def workers(self) -> list[int]:
        """Returns the process ids of the workers: the children that have connections of their own to serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(each) for each in children if "spawn_main" in Path(f"/proc/{each}/cmdline").read_text()]


@contextmanager
def serving(folder: Path, *options: str, config: str = "") -> Iterator[Server]:
    """Yields a server over a new project in a folder, once it is ready, with a token for all. Its process is killed at the end if it still runs."""
    file = make_project(folder)
    file.write_text(file.read_text() + config)
    token = TokenFile(folder / ".alma").add("all", Access())
    with started(folder, token, *options) as server:
        yield server


@contextmanager
def started(folder: Path, token: str | None, *options: str) -> Iterator[Server]:
    """Yields a server over the project in a folder, once it is ready. Without a token, it is the one that the server makes and prints."""
    file = folder / ".alma" / "config.yaml"
    command = [sys.executable, "-m", "alma", "serve", "-c", str(file), "--port", "0", *options]
    with open(folder / "requests.log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, address = _start(process)
        server = Server(process, address, token or said.split()[-1], folder, said)
        wait_until_ready(server)
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until_ready(server: Server) -> None:
    """Waits until a server answers that it is ready."""
    end = time.monotonic() + READY_SECONDS
    with server.client() as client:
        while time.monotonic() < end:
            try:
                if client.get("/health/ready").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
    raise AssertionError("the server did not become ready")


def request_lines(server: Server) -> list[dict[str, Any]]:
    """Returns the lines of log of a server."""
    return [json.loads(line) for line in (server.folder / "requests.log").read_text().splitlines()]


def _start(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Returns what a server says before it listens, and its address."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        if "listening on " in line:
            return said, line.partition("listening on ")[2].strip()
        said += line
    raise AssertionError(f"the server did not start: {said}")
