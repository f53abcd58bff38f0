"""Where the server is and which schema of it holds the tables, out of a block of the configuration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from alma.errors import ConfigurationError

SCHEMES = ("postgres://", "postgresql://")
DEFAULT_SCHEMA = "alma"
DEFAULT_POOL_SIZE = 10
NO_INDEX = "none"
IVFFLAT = "ivfflat"
INDEX_TYPES = ("hnsw", IVFFLAT, NO_INDEX)
SMALLEST_POOL = 3
"""A thread may hold three connections at once: a long view, a write, and a look beside them."""

CONNECT_SECONDS = "10"

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PARAMETERS = {
    "host": "host",
    "port": "port",
    "database": "dbname",
    "user": "user",
    "password": "password",
    "ssl_mode": "sslmode",
}
_DEFAULTS = {"host": "localhost", "port": "5432", "dbname": "alma"}
_OURS = ("schema", "pool_size", "vector_index_type")


@dataclass(frozen=True, slots=True)
class Address:
    """A schema of a PostgreSQL database. Equal addresses share connections."""

    conninfo: str
    schema: str = DEFAULT_SCHEMA
    pool_size: int = DEFAULT_POOL_SIZE
    prepare_threshold: int | None = None
    index_type: str = "hnsw"

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "Address":
        """The address that a block `postgres:` gives. `ConfigurationError` if its parts do not fit together."""
        given = {name: _plain(value) for name, value in options.items() if value is not None}
        url = str(given.get("url") or "")
        parts, ours = _parsed(url) if url else ({}, {})
        parts |= {theirs: str(given[name]) for name, theirs in _PARAMETERS.items() if given.get(name) not in (None, "")}
        if not url:
            parts = {**_DEFAULTS, **parts}
        parts.setdefault("connect_timeout", CONNECT_SECONDS)
        schema = str(given.get("schema") or ours.get("schema") or DEFAULT_SCHEMA)
        threshold = given.get("prepare_threshold")
        return cls(
            make_conninfo(**{**parts, "application_name": "alma"}),
            checked_schema(schema),
            max(SMALLEST_POOL, int(str(given.get("pool_size") or ours.get("pool_size") or DEFAULT_POOL_SIZE))),
            None if threshold is None else int(str(threshold)),
            _index_type(given.get("vector_index_type") or ours.get("vector_index_type") or "hnsw"),
        )

    @classmethod
    def of_url(cls, url: str) -> "Address":
        """The address that a URL gives: `postgres://user:password@host:5432/database?schema=alma`."""
        return cls.of({"url": url})

    @property
    def name(self) -> str:
        """The address as messages show it: without the password."""
        parts = conninfo_to_dict(self.conninfo)
        user = f"{parts['user']}@" if parts.get("user") else ""
        return f"postgres://{user}{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}, schema {self.schema}"


def _parsed(url: str) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of a URL for the driver, and those that are ours."""
    if not url.startswith(SCHEMES):
        raise ConfigurationError(f"postgres.url: must begin with {SCHEMES[0]}")
    head, _, query = url.partition("?")
    settings = [part.partition("=") for part in query.split("&") if part]
    ours = {name: value for name, _, value in settings if name in _OURS}
    theirs = "&".join(f"{name}={value}" for name, _, value in settings if name not in _OURS)
    try:
        found = conninfo_to_dict(f"{head}?{theirs}" if theirs else head)
    except ProgrammingError as error:  # its message may repeat the password
        raise ConfigurationError("postgres.url: cannot be read; write postgres://user:password@host:5432/database") from error
    return {name: str(value) for name, value in found.items() if value is not None}, ours


def _index_type(given: object) -> str:
    """The sort of index. `ConfigurationError` for one that is not built: another one must not take its place in silence."""
    if given not in INDEX_TYPES:
        raise ConfigurationError(f"postgres.vector_index_type: {str(given)[:80]!r} is not one of {', '.join(INDEX_TYPES)}")
    return str(given)


def checked_schema(name: str) -> str:
    """The name of a schema. `ConfigurationError` if it would have to be quoted."""
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise ConfigurationError(f"postgres.schema: {name[:80]!r} must be 1 to 63 small letters, digits and underscores")
    return name


def _plain(value: object) -> object:
    """A value as text; a `SecretStr` hides it until here."""
    reveal = getattr(value, "get_secret_value", None)
    return reveal() if callable(reveal) else value
