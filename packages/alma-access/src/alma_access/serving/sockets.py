"""The socket that a server listens on."""

import socket

from alma.errors import ConfigurationError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine in addresses."""
BACKLOG = 128


class CannotListenError(ConfigurationError):
    """Address that cannot be listened on, because another server has it or it is not of this machine."""


def open_listener(host: str, port: int) -> socket.socket:
    """Returns a socket that listens; port 0 is any free one. Clients may connect from now on, and wait. `CannotListenError` if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's delay off only where the protocol is named; with it, answers of two parts take 40 ms
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise CannotListenError(f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}") from error
    return listener


def show_host(host: str) -> str:
    """Returns a host as addresses show it: an address of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
