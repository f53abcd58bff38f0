"""The command `alma ui`: the address that it prints lets one browser in, at its own server or at one that runs already."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from api_processes import serving
from mcp_servers import make_project

ALMA = (sys.executable, "-m", "alma")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_project(tmp_path)
    return tmp_path


@contextmanager
def opened(folder: Path, *options: str) -> Iterator[str]:
    """Yields the first line that `alma ui` prints, while it runs."""
    command = [*ALMA, "ui", "--no-browser", "-c", str(folder / ".alma" / "config.yaml"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def begin(address: str) -> httpx.Response:
    page, _, fragment = address.strip().partition("#")
    code = parse_qs(fragment)["code"][0]
    return httpx.post(f"{page}session", json={"code": code}, timeout=60.0, trust_env=False)


def test_the_address_that_is_printed_lets_one_browser_in(folder: Path) -> None:
    with opened(folder, "--port", "0", "--agent", "über") as address:
        assert address.startswith("http://127.0.0.1:")
        assert address.strip().endswith("&agent=%C3%BCber")
        assert httpx.get(address.partition("#")[0], trust_env=False).headers["content-type"] == "text/html; charset=utf-8"
        assert [begin(address).status_code for _ in range(2)] == [200, 401]


def test_it_listens_on_this_machine_alone_whatever_the_configuration_says(folder: Path) -> None:
    with (folder / ".alma" / "config.yaml").open("a") as config:
        config.write("  server: {host: 0.0.0.0, workers: 2, port: 0}\n")
    with opened(folder) as address:
        assert address.startswith("http://127.0.0.1:")


def test_the_page_of_a_running_server_is_opened(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as server:
        config = str(tmp_path / ".alma" / "config.yaml")
        done = subprocess.run(
            [*ALMA, "ui", "--no-browser", "-c", config, "--server", server.address, "--json"], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        address = json.loads(done.stdout)["address"]
        assert address.startswith(f"{server.address}/ui/#code=")
        begun = begin(address).json()
        bearer = {"Authorization": f"Bearer {begun['token']}"}
        for _ in range(8):  # each of the workers knows the session
            assert httpx.get(f"{server.address}/v1/whoami", headers=bearer, trust_env=False).json()["name"] == begun["name"]
        assert begin(address).status_code == 401


def test_a_code_of_another_memory_is_refused(tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path / "other") as server:
        done: Any = subprocess.run(
            [*ALMA, "ui", "--no-browser", "-c", str(folder / ".alma" / "config.yaml"), "--server", server.address],
            capture_output=True,
            text=True,
        )
        assert begin(done.stdout).status_code == 401


def test_a_port_that_is_taken_is_an_error_in_one_line(folder: Path) -> None:
    with opened(folder, "--port", "0") as address:
        port = address.partition("/ui/")[0].rpartition(":")[2]
        command = [*ALMA, "ui", "--no-browser", "-c", str(folder / ".alma" / "config.yaml"), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("alma: cannot listen on ")
    assert "--server" in done.stderr
    assert done.stderr.count("\n") == 1
