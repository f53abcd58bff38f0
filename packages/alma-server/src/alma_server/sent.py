"""A request with an idempotency key."""

from dataclasses import dataclass

RUNNING_SECONDS = 30
"""How long a request counts as running after the last sign of its process. After that a repeated request is carried out; at once, if the process is
known to have ended and the core counts the write once."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Digests of whose a request is, of its key and route, and of its body."""

    token: str
    key: str
    route: str
    body_sha256: str
