"""`create_graph_backend`: a backend by the name of its database."""

from collections.abc import Callable
from inspect import signature
from os import PathLike
from typing import Any

from alma.errors import ConfigurationError, ValidationError
from alma.text import name_nearest, quoted
from alma_graph.backends.backend import GraphBackend
from alma_graph.backends.bolt import ARCADEDB, MEMGRAPH, NEO4J, BoltTransport
from alma_graph.backends.cypher import CypherBackend
from alma_graph.backends.falkordb import FALKORDB, FalkorDBTransport
from alma_graph.backends.ladybug import LADYBUG, LadybugTransport
from alma_graph.backends.neptune import NEPTUNE, NeptuneTransport
from alma_graph.backends.sqlite import SQLiteGraphBackend

Path = str | PathLike[str]


def create_graph_backend(backend: str = "neo4j", **options: Any) -> GraphBackend:
    """Returns a backend by name, connected.

    | name | options |
    |---|---|
    | `memory` | |
    | `sqlite` | `database_path` |
    | `kuzu`, `ladybug` | `database_path` (none: in memory), `read_only` |
    | `neo4j`, `arcadedb`, `memgraph` | `uri`, `username`, `password`, `database` |
    | `falkordb` | `host`, `port`, `username`, `password`, `graph`, `unix_socket_path` |
    | `neptune` | `endpoint`, or `graph_identifier`; `region` |

    With each, `project_id` names the project whose graph it is. `ValidationError` for another name or option, `MissingDependencyError` if the driver
    is not installed.
    """
    make = _MAKERS.get(str(backend).lower())
    if make is None:
        raise ValidationError(_not_known(backend))
    known = list(signature(make).parameters)
    if unknown := [name for name in options if name not in known]:
        near = name_nearest(unknown[0], known)
        raise ValidationError(f"the graph backend {backend} has no option {unknown[0]!r}{near}; it has {', '.join(known)}")
    return make(**options)


def _not_known(backend: object) -> str:
    if isinstance(backend, str) and backend.lower() == "tigergraph":
        return (
            "there is no graph backend for TigerGraph: its language is GSQL, not Cypher, its server cannot be run in tests; "
            f"there are {', '.join(_MAKERS)}"
        )
    return f"there is no graph backend {quoted(backend)}{name_nearest(backend, _MAKERS)}; there are {', '.join(_MAKERS)}"


def _memory(project_id: str = "") -> GraphBackend:
    return SQLiteGraphBackend(project_id=project_id)


def _sqlite(database_path: Path | None = None, project_id: str = "") -> GraphBackend:
    if database_path is None:
        raise ConfigurationError('sqlite needs a database_path; "memory" keeps a graph in memory')
    return SQLiteGraphBackend(database_path, project_id=project_id)


def _ladybug(database_path: Path | None = None, read_only: bool = False, project_id: str = "") -> GraphBackend:
    return CypherBackend(LadybugTransport(database_path, read_only=read_only), LADYBUG, project_id=project_id)


def _neo4j(uri: str, username: str = "", password: str = "", database: str | None = None, project_id: str = "") -> GraphBackend:
    return CypherBackend(BoltTransport(uri, username, password, database), NEO4J, project_id=project_id)


def _arcadedb(
    uri: str, username: str = "", password: str = "", database: str | None = None, project_id: str = ""
) -> GraphBackend:
    return CypherBackend(BoltTransport(uri, username, password, database), ARCADEDB, project_id=project_id)


def _memgraph(
    uri: str = "bolt://localhost:7687", username: str = "", password: str = "", database: str | None = None, project_id: str = ""
) -> GraphBackend:
    return CypherBackend(BoltTransport(uri, username, password, database), MEMGRAPH, project_id=project_id)


def _falkordb(
    host: str = "localhost",
    port: int = 6379,
    username: str | None = None,
    password: str | None = None,
    graph: str = "alma",
    unix_socket_path: str | None = None,
    project_id: str = "",
) -> GraphBackend:
    transport = FalkorDBTransport(
        host=host, port=port, username=username, password=password, graph=graph, unix_socket_path=unix_socket_path
    )
    return CypherBackend(transport, FALKORDB, project_id=project_id)


def _neptune(
    endpoint: str | None = None, graph_identifier: str | None = None, region: str | None = None, project_id: str = ""
) -> GraphBackend:
    return CypherBackend(
        NeptuneTransport(endpoint=endpoint, graph_identifier=graph_identifier, region=region), NEPTUNE, project_id=project_id
    )


_MAKERS: dict[str, Callable[..., GraphBackend]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "ladybug": _ladybug,
    "kuzu": _ladybug,
    "neo4j": _neo4j,
    "memgraph": _memgraph,
    "arcadedb": _arcadedb,
    "falkordb": _falkordb,
    "neptune": _neptune,
}
