"""Options of `alma serve`: the block `server:` of a configuration, and what the command line says beyond it."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from alma.errors import ConfigurationError
from alma_server.settings import MIB, ServerSettings

PORT = 8765
Door = Literal["api", "mcp", "ui"]
Seconds = Annotated[float, Field(gt=0.0, le=3600.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class ServerBlock(BaseModel):
    """The block `server:`. Times are in seconds, sizes in bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = PORT
    only: Door | None = None
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    root_path: Annotated[str, Field(pattern=r"^(/[^/?#\s]+)*$")] = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    insecure_public: bool = False
    certificate: Path | None = None
    certificate_key: Path | None = None
    legacy: bool = True
    max_body: Annotated[int, Field(ge=1, le=1024 * MIB)] = MIB
    rate: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    burst: Annotated[float, Field(ge=100.0, allow_inf_nan=False)] = 1000.0
    readers: Annotated[int, Field(ge=1, le=64)] = 2
    waiting: Count = 128
    streams: Count = 2000
    open_projects: Count = 64
    drain_seconds: Seconds = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options with which a server is started. Processes of one server get the same options."""

    config: Path
    folder: Path
    project: str
    profile: str
    block: ServerBlock
    cursor_key: bytes
    webhooks: tuple[dict[str, Any], ...] = ()

    @property
    def settings(self) -> ServerSettings:
        """Settings of the application."""
        block = self.block
        return ServerSettings(
            project=self.project,
            folder=self.folder,
            allowed_hosts=block.allowed_hosts,
            allowed_origins=block.allowed_origins,
            root_path=block.root_path,
            has_api=block.only in (None, "api", "ui"),
            has_page=block.only in (None, "ui"),
            legacy=block.legacy,
            max_body=block.max_body,
            readers=block.readers,
            waiting=block.waiting,
            rate=block.rate,
            burst=block.burst,
            workers=block.workers,
            streams=block.streams,
            open_projects=block.open_projects,
            drain_seconds=block.drain_seconds,
            cursor_key=self.cursor_key,
        )


def check_options(block: ServerBlock) -> None:
    """Raises `ConfigurationError` for what cannot be served, and for an address that others reach without TLS where nobody asked for it."""
    if (block.certificate is None) != (block.certificate_key is None):
        raise ConfigurationError("a certificate and its key go together: --certificate and --certificate-key")
    if not (is_loopback(block.host) or block.certificate or block.insecure_public):
        raise ConfigurationError(
            f"{block.host} is reached by other machines, and tokens would pass in clear: give a --certificate, or put a proxy with TLS before "
            "this server and add --insecure-public"
        )


def is_loopback(host: str) -> bool:
    """Returns True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
