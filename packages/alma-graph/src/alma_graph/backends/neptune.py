"""Amazon Neptune, as a database and as Neptune Analytics, through its openCypher endpoint. It is tested against a server of the tests that answers in
the form of the service, never against the service."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from alma.errors import ConfigurationError, StorageError
from alma_graph.backends.cypher import Dialect, Statement, Values
from alma_graph.backends.missing import load
from alma_graph.backends.records import Row

NEPTUNE = Dialect(key="`~id`", has_labels=False)
"""Neptune indexes every property by itself and has no constraints: what identifies a node or an edge is its own id, `~id`."""

REFUSALS = frozenset(
    {"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"}
)


class NeptuneTransport:
    """Statements to Neptune by `boto3`. Each is a transaction of its own."""

    def __init__(self, *, endpoint: str | None, graph_identifier: str | None, region: str | None) -> None:
        if (endpoint is None) == (graph_identifier is None):
            raise ConfigurationError("neptune needs an endpoint, or the graph_identifier of a graph of Neptune Analytics")
        boto3 = load("boto3", "neptune")
        self._errors_of = load("botocore.exceptions", "neptune")
        self._is_closed = False
        self.engine = f"boto3 {boto3.__version__}"
        self._graph = graph_identifier
        with self._errors():
            if graph_identifier is None:
                self._client = boto3.Session().client("neptunedata", endpoint_url=endpoint, region_name=region)
            else:
                self._client = boto3.Session().client("neptune-graph", region_name=region)
            self._run("RETURN 1 AS one", {})

    def read(self, statement: str, values: Values) -> list[Row]:
        with self._errors():
            return self._run(statement, values)

    def write(self, statements: Sequence[Statement]) -> None:
        with self._errors():
            for text, values in statements:
                self._run(text, values)

    def define(self, statements: Sequence[str]) -> None:
        self.write([(text, {}) for text in statements])

    def close(self) -> None:
        self._is_closed = True
        self._client.close()

    def _run(self, statement: str, values: Values) -> list[Row]:
        if self._graph is None:
            answer = self._client.execute_open_cypher_query(openCypherQuery=statement, parameters=json.dumps(dict(values)))
            found: list[Row] = answer["results"]
            return found
        answer = self._client.execute_query(
            graphIdentifier=self._graph, queryString=statement, language="OPEN_CYPHER", parameters=dict(values)
        )
        payload: dict[str, Any] = json.loads(answer["payload"].read())
        rows: list[Row] = payload["results"]
        return rows

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._is_closed:
            raise StorageError("the graph backend is closed")
        try:
            yield
        except self._errors_of.ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code in REFUSALS:
                raise ConfigurationError(f"Neptune refuses the user: {error}") from error
            raise StorageError(f"Neptune: {error}") from error
        except (self._errors_of.NoCredentialsError, self._errors_of.NoRegionError) as error:
            raise ConfigurationError(f"Neptune: {error}") from error
        except self._errors_of.BotoCoreError as error:
            raise StorageError(f"Neptune: {error}") from error
