"""No test can reach another machine; this one stays reachable."""

import asyncio
import socket
from pathlib import Path

import pytest

from offline import NetworkBlockedError

ELSEWHERE = ("192.0.2.1", 80)  # reserved for documentation


def test_a_connection_to_another_machine_is_blocked() -> None:
    with pytest.raises(NetworkBlockedError, match="192"), socket.socket() as stream:
        stream.connect(ELSEWHERE)


def test_a_datagram_to_another_machine_is_blocked() -> None:
    with pytest.raises(NetworkBlockedError), socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.sendto(b"x", ELSEWHERE)


@pytest.mark.parametrize("look_up", [socket.gethostbyname, lambda host: socket.getaddrinfo(host, 80)])
def test_a_name_is_not_looked_up(look_up) -> None:
    with pytest.raises(NetworkBlockedError):
        look_up("example.org")


def test_asyncio_is_blocked_too() -> None:
    with pytest.raises(NetworkBlockedError):
        asyncio.run(asyncio.wait_for(asyncio.open_connection(*ELSEWHERE), 1))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_is_reachable(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection((host, server.getsockname()[1])) as client:
        assert client.getpeername()[0] == "127.0.0.1"


def test_a_unix_socket_is_reachable(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
        assert client.getpeername() == str(tmp_path / "s")
