"""Keeps a Python process on this machine: connections and name look-ups that leave it raise."""

import ipaddress
import sys
from typing import Any

_LOCAL_NAMES = {"", "localhost"}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKING_UP = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


class NetworkBlockedError(RuntimeError):
    """A test tried to reach another machine."""


def block_network() -> None:
    """Blocks everything but loopback and Unix sockets, for the rest of this process."""
    sys.addaudithook(_check_event)


def _check_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _SENDING and isinstance(arguments[1], tuple):
        _check_host(arguments[1][0])
    elif event in _LOOKING_UP:
        _check_host(arguments[0])


def _check_host(host: object) -> None:
    if host is not None and not _is_local(host.decode() if isinstance(host, bytes) else str(host)):
        raise NetworkBlockedError(f"tests may only reach this machine, not {host!r}")


def _is_local(host: str) -> bool:
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
