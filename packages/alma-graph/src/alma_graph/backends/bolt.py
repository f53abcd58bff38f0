"""Neo4j and databases that speak its protocol, Bolt: Memgraph and ArcadeDB."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from alma.errors import ConfigurationError, StorageError
from alma_graph.backends.cypher import Dialect, Statement, Values
from alma_graph.backends.missing import load
from alma_graph.backends.records import Row

NEO4J = Dialect(
    schema=(
        "CREATE CONSTRAINT alma_entity_key IF NOT EXISTS FOR (n:AlmaEntity) REQUIRE n.key IS UNIQUE",
        "CREATE INDEX alma_entity_folded IF NOT EXISTS FOR (n:AlmaEntity) ON (n.folded)",
        "CREATE INDEX alma_relates_key IF NOT EXISTS FOR ()-[r:RELATES]-() ON (r.key)",
        "CREATE CONSTRAINT alma_position IF NOT EXISTS FOR (p:`_Alma`) REQUIRE p.project IS UNIQUE",
    )
)
ARCADEDB = replace(NEO4J, has_labels=False)
"""ArcadeDB makes a node anew for a second label, which its unique key then refuses."""

MEMGRAPH = Dialect(
    schema=(
        "CREATE CONSTRAINT ON (n:AlmaEntity) ASSERT n.key IS UNIQUE",
        "CREATE INDEX ON :AlmaEntity(key)",
        "CREATE INDEX ON :AlmaEntity(folded)",
        "CREATE EDGE INDEX ON :RELATES(key)",
    )
)


class BoltTransport:
    """Statements over Bolt, by the driver `neo4j`. A write is one transaction, tried again while the database says that it may be."""

    def __init__(self, uri: str, username: str, password: str, database: str | None) -> None:
        self._neo4j = load("neo4j", "neo4j")
        self.engine = f"neo4j {self._neo4j.__version__}"
        self._database = database
        with self._errors():
            self._driver = self._neo4j.GraphDatabase.driver(uri, auth=(username, password) if username or password else None)
            try:
                self._driver.verify_connectivity()
            except BaseException:
                self._driver.close()
                raise

    def read(self, statement: str, values: Values) -> list[Row]:
        def rows(transaction: Any) -> list[Row]:
            return [record.data() for record in transaction.run(statement, dict(values))]

        with self._errors(), self._driver.session(database=self._database) as session:
            found: list[Row] = session.execute_read(rows)
            return found

    def write(self, statements: Sequence[Statement]) -> None:
        def run(transaction: Any) -> None:
            for text, values in statements:
                transaction.run(text, dict(values)).consume()

        with self._errors(), self._driver.session(database=self._database) as session:
            session.execute_write(run)

    def define(self, statements: Sequence[str]) -> None:
        with self._errors(), self._driver.session(database=self._database) as session:
            for text in statements:
                try:
                    session.run(text).consume()
                except self._neo4j.exceptions.Neo4jError as error:
                    if "exist" not in str(error).lower():
                        raise

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._neo4j.exceptions.AuthError as error:
            raise ConfigurationError(f"the graph database refuses the user: {error}") from error
        except (self._neo4j.exceptions.DriverError, self._neo4j.exceptions.Neo4jError, OSError) as error:
            raise StorageError(f"the graph database over Bolt: {error}") from error
        except (self._neo4j.exceptions.ConfigurationError, ValueError) as error:
            raise ConfigurationError(f"the graph database over Bolt: {error}") from error
