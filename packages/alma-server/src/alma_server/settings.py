"""Limits and names of a server, with their defaults."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of one server process. Times are in seconds, sizes in bytes."""

    folder: Path | None = None
    """Folder of the store, whose size the figures state."""
    project: str | None = None
    """Project of an address that names none, for tokens that reach several: the one of the configuration."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that a header `Host` may state beside those of loopback: `host`, `host:port` or `host:*`."""
    allowed_origins: tuple[str, ...] = ()
    """Origins that browsers may send beside those of loopback, with their scheme."""
    root_path: str = ""
    """Path under which a proxy shows this server, as `/alma`."""
    has_api: bool = True
    """False serves the state of the server only, for one that serves MCP."""
    has_page: bool = True
    """Serve the page for people at `/ui/`."""
    legacy: bool = True
    """Answer clients of alma-memory at `POST /`."""
    max_body: int = MIB
    body_seconds: float = 30.0
    readers: int = 2
    """Threads that read. More take turns at the interpreter: with 4, two thirds of the reads a second of 1; see docs/guides/server.md."""
    writers: int = 1
    waiting: int = 128
    """Calls of each sort that may wait for a thread; a further one is answered 503."""
    rate: float = 0.0
    """Weight of requests that a token may have a second: a read is 1, a write 3, an export 50. 0 is no limit."""
    burst: float = 1000.0
    """Weight of requests that a token may have at once."""
    workers: int = 1
    """Processes that serve the port. Each grants its share of `rate` and `burst`."""
    streams: int = 2000
    """Streams of events that may be open at once in a process; a further one is answered 503."""
    open_projects: int = 64
    """Projects that stay open; the project used least recently is closed for a further one."""
    cursor_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Key that signs the cursors of pages: the same for all processes of a server."""
    drain_seconds: float = 10.0
    """Time that running requests have when the server is asked to end."""
