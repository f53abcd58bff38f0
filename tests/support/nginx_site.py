"""A real nginx in front of a server, with the site of deploy/nginx.conf."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

SITE = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
HOST = "alma.example.com"
TEMPORARY = "".join(f"{each}_temp_path {{folder}}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
AROUND = """daemon off; pid {folder}/nginx.pid;
events {{}}
http {{ log_format line '$request_method $uri $status $upstream_status'; access_log {folder}/access.log line; {temporary}
include {folder}/site.conf; }}
"""


@dataclass
class Site:
    """An nginx that passes requests on."""

    port: int
    folder: Path

    def client(self, token: str, path: str = "", **settings: Any) -> httpx.Client:
        """Returns a client of the site below a path, with a token."""
        headers = {"Host": HOST, "Authorization": f"Bearer {token}"}
        base = f"https://127.0.0.1:{self.port}{path}"
        return httpx.Client(base_url=base, headers=headers, verify=_unchecked(), timeout=30.0, trust_env=False, **settings)

    def send(self, request: bytes) -> bytes:
        """Sends bytes as they are. Returns all that comes back until the connection ends, or nothing comes for two seconds."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port)) as plain, _unchecked().wrap_socket(plain) as connection:
            connection.settimeout(2.0)
            connection.sendall(request)
            try:
                while part := connection.recv(65536):
                    answer += part
            except (TimeoutError, ConnectionError):
                pass
        return answer

    def passed_on(self) -> int:
        """Returns how many requests nginx has passed on to the server."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return sum(not line.endswith(" -") for line in lines)


@contextmanager
def nginx_before(upstream: str, folder: Path, *changes: tuple[str, str]) -> Iterator[Site]:
    """Yields an nginx before a server at `host:port`, with these changes of the site. Skips where a program is missing."""
    for program in ("nginx", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    port = _free_port()
    _make_certificate(folder)
    (folder / "site.conf").write_text(_site(folder, port, upstream, changes))
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, temporary=TEMPORARY.format(folder=folder)))
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        _wait_until_listening(process, port)
        yield Site(port, folder)
    finally:
        process.terminate()
        process.communicate()


def _site(folder: Path, port: int, upstream: str, changes: tuple[tuple[str, str], ...]) -> str:
    text = SITE.read_text()
    own = (
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("server 127.0.0.1:8765;", f"server {upstream};"),
        ("/etc/ssl/alma.example.com", str(folder / "site")),
    )
    for given, wanted in (*own, *changes):
        assert given in text, given
        text = text.replace(given, wanted)
    return text


def _make_certificate(folder: Path) -> None:
    files = ["-keyout", str(folder / "site.key"), "-out", str(folder / "site.crt")]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run([*command, "-subj", f"/CN={HOST}", *files], check=True, capture_output=True)


def _wait_until_listening(process: "subprocess.Popen[str]", port: int) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("nginx does not listen")


def _unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
