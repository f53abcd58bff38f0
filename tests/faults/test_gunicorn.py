"""Gunicorn with `--preload`: its workers are forked off a process that has imported the application, with a store open or not."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from alma import ALMA

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="gunicorn runs where there is fork")]

APPLICATION = """
import json
from alma import ALMA

def opened():
    return ALMA.open({folder!r}, project_id="shop", embedding_provider="hash", embedding_dim=16)

at_import = opened() if {is_opened} else None
if at_import:
    at_import.learn("founder", "Begin", "success", "before the fork")
mine = None

def application(environ, start_response):
    global mine
    if mine is None:
        mine = at_import or opened()
    task = environ["PATH_INFO"].strip("/")
    learned = mine.learn("web", task, "success", "by a request").id
    found = learned in mine.retrieve(task, "web", top_k=100).ids
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([learned, found]).encode()]
"""

REQUESTS = 40


@contextmanager
def serving(folder: Path, application: str) -> Iterator[tuple[str, int]]:
    """Gunicorn with two workers of two threads; ended in order, and it has to end well."""
    (folder / "application.py").write_text(application, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        options = ["--preload", "--workers=2", "--threads=2", f"--bind=fd://{listening.fileno()}", "--log-level=warning"]
        command = [sys.executable, "-m", "gunicorn", *options, "--no-control-socket", "application:application"]
        process = subprocess.Popen(command, cwd=folder, pass_fds=[listening.fileno()], stderr=subprocess.PIPE)
        try:
            yield listening.getsockname()
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=80)
            assert process.returncode == 0, told.decode()
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("is_opened", [True, False], ids=["opened before the fork", "opened after the fork"])
def test_workers_of_a_preloaded_application_learn_and_retrieve_side_by_side(tmp_path: Path, is_opened: bool) -> None:
    store = tmp_path / "store"

    def ask(address: tuple[str, int], number: int) -> tuple[str, bool]:
        with closing(HTTPConnection(*address, timeout=80)) as connection:
            connection.request("GET", f"/task-{number}")
            answer = connection.getresponse()
            text = answer.read().decode()
        assert answer.status == 200, text
        learned, is_found = json.loads(text)
        return learned, is_found

    with (
        serving(tmp_path, APPLICATION.format(folder=str(store), is_opened=is_opened)) as address,
        ThreadPoolExecutor(8) as threads,
    ):
        answers = list(threads.map(lambda number: ask(address, number), range(REQUESTS)))
    assert all(is_found for _, is_found in answers)
    with ALMA.open(store, project_id="shop") as alma:
        assert {learned for learned, _ in answers} <= {memory.id for memory in alma.list_memories("outcome", limit=1_000)}
        assert alma.get_stats().by_kind["outcome"] == REQUESTS + is_opened
        assert alma.verify().ok
