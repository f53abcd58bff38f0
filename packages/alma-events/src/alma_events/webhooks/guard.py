"""Guard against requests to places inside: each address is judged when it is dialled, and nothing resolves the name a second time."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore

from alma.errors import ValidationError
from alma.text import quoted

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host name. `OSError` if there are none."""

LONGEST_URL = 2_000
USUAL_PORTS = (80, 443)
FIRST_FREE_PORT = 1024

_GLOBAL = IPv6Network("2000::/3")
_NOT_GLOBAL = [IPv6Network(each) for each in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
_NAT64 = IPv6Network("64:ff9b::/96")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]+\]")


class RefusedAddressError(httpcore.ConnectError):
    """The guard refuses to dial a host."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Rules for the addresses of receivers. By default only https to addresses that are public on the internet.

    `allow` lists hosts and networks inside that may be reached besides, as "hooks.internal" or "10.1.0.0/16". `allow_http` allows requests
    that are not encrypted. `nat64` judges addresses of NAT64 by the IPv4 address within; otherwise they are refused. Only the operator may
    set these, never a client of a server.
    """

    allow_http: bool = False
    allow: tuple[str, ...] = ()
    nat64: bool = False

    def check_url(self, url: object) -> "Target":
        """Returns the parts of a URL. `ValidationError` if it cannot be one of a receiver; its text, which may hold a secret, is not repeated."""
        if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
            raise ValidationError(
                f"url must be 1 to {LONGEST_URL:,} printable ASCII characters; write a foreign host name as xn--…"
            )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValidationError("url cannot be read: its host or port is wrong") from error
        if parts.scheme not in ("http", "https"):
            raise ValidationError("url must begin with https://")
        if parts.scheme == "http" and not self.allow_http:
            raise ValidationError(
                "url must begin with https://, because http shows events to everyone on the way (allow_http allows it)"
            )
        host, is_plain = parts.hostname or "", "@" not in parts.netloc and "\\" not in url
        if not is_plain or not _HOST.fullmatch(f"[{host}]" if ":" in host else host):
            raise ValidationError("url must be https://host/path, without a user or a password")
        port = (443 if parts.scheme == "https" else 80) if port is None else port
        if port not in USUAL_PORTS and port < FIRST_FREE_PORT:
            raise ValidationError(f"url must not have the port {port}: 443, 80 and those from {FIRST_FREE_PORT} on are possible")
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        return Target(parts.scheme, host, port, path)

    def allows(self, host: str, address: str) -> bool:
        """Returns whether an address of a host may be dialled."""
        if any(host.casefold().rstrip(".") == each.casefold().rstrip(".") for each in self.allow):
            return True
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, IPv6Address):
            found = found.ipv4_mapped or (_embedded(found) if self.nat64 and found in _NAT64 else found)
        return is_public(found) or any(found in network for network in map(_as_network, self.allow) if network is not None)

    def check_addresses(self, host: str, addresses: Iterable[str]) -> list[str]:
        """Returns the addresses of a host, all of which may be dialled. `RefusedAddressError` if any may not be, or there is none."""
        found = list(dict.fromkeys(addresses))
        if not found or not all(self.allows(host, each) for each in found):
            raise RefusedAddressError(f"an address of {host} is not public")
        return found


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a receiver's URL."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """The receiver in messages and lists, without its path, which may hold a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = (self.scheme, self.port) in (("https", 443), ("http", 80))
        return f"{self.scheme}://{host}" + ("" if usual else f":{self.port}")


def check_allowed(names: Sequence[str]) -> tuple[str, ...]:
    """Returns hosts and networks. `ValidationError` for one that is neither."""
    for name in names:
        if not _HOST.fullmatch(name) and _as_network(name) is None:
            raise ValidationError(f"allow: {quoted(name)} is neither a host nor a network such as 10.1.0.0/16")
    return tuple(names)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Returns whether an address is public on the internet. Addresses that contain one of IPv4 are not, nor are those for groups."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    return address in _GLOBAL and not any(address in network for network in _NOT_GLOBAL)


def _embedded(address: IPv6Address) -> IPv4Address:
    return IPv4Address(address.packed[-4:])


def _as_network(name: str) -> Any:
    try:
        return ip_network(name, strict=False)
    except ValueError:
        return None


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Returns the addresses that the system has for a host name. `OSError` if it has none."""
    return [str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_target(guard: Guard, url: str, resolve: Resolve = resolve_host) -> None:
    """Raises `ValidationError` for a receiver that the guard would not dial now. A name that cannot be resolved yet passes."""
    target = guard.check_url(url)
    try:
        guard.check_addresses(target.host, resolve(target.host, target.port))
    except RefusedAddressError as error:
        raise ValidationError(f"url: {error}; the operator can allow the host or its network (allow)") from error
    except (OSError, UnicodeError):
        return


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves names inside the connector, and dials the very addresses that it judged. Certificates are still those of the name."""

    def __init__(self, guard: Guard, resolve: Resolve = resolve_host) -> None:
        self._guard, self._resolve = guard, resolve
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            found = await asyncio.to_thread(self._resolve, host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved") from error
        addresses = self._guard.check_addresses(host, found)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        raise RefusedAddressError("a receiver is reached by an address")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
