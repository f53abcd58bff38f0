"""Rules for the hosts and origins that a request may name, which are read by their parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from alma_access.serving.sockets import LOOPBACK

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s/@:\[\]?#\\]+)(?::(?P<port>\d{1,5}))?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Names:
    """Names that are allowed: `host`, `host:port`, or `host:*` for any port; of origins with a scheme before them."""

    hosts: Sequence[str]
    origins: Sequence[str]

    @classmethod
    def with_loopback(cls, hosts: Sequence[str], origins: Sequence[str]) -> Self:
        """Returns these names, and those of this machine at any port."""
        own = [*(f"{name}:*" for name in LOOPBACK), *LOOPBACK]
        return cls([*own, *hosts], [*(f"http://{name}" for name in own), *origins])

    def allows_host(self, host: str) -> bool:
        """Returns True for a header `Host` that is the name of one of the hosts and nothing more."""
        return _is_among(host, self.hosts)

    def allows_origin(self, origin: str) -> bool:
        """Returns True for a header `Origin` that is one of the origins and nothing more."""
        scheme, _, host = origin.lower().partition("://")
        return _is_among(
            host, [name for each, _, name in (one.lower().partition("://") for one in self.origins) if each == scheme]
        )


def is_same_origin(origin: str, host: str) -> bool:
    """Returns True for a header `Origin` of the very host that a header `Host` names. Behind a proxy the latter may have lost its port."""
    stated = origin.partition("://")[2].lower()
    found = _HOST.fullmatch(stated)
    return found is not None and host.lower() in (stated, found["name"])


def _is_among(stated: str, allowed: Sequence[str]) -> bool:
    found = _HOST.fullmatch(stated)
    if found is None or int(found["port"] or 0) > 65_535:
        return False
    name, port = found["name"].lower(), found["port"]
    wanted = (name,) if port is None else (f"{name}:{int(port)}", f"{name}:*")
    return any(each.lower() in wanted for each in allowed)
