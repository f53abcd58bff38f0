"""The index over a table of vectors: HNSW, which takes each row as it comes, or IVFFlat, whose lists are trained anew as the table grows."""

import logging
from dataclasses import dataclass, field

from alma.errors import StorageError
from alma_postgres.address import IVFFLAT
from alma_postgres.database import PostgresDatabase, lock_key
from alma_postgres.driver_errors import BUSY
from alma_postgres.session import PostgresSession

ROWS_OF_A_LIST = 1_000
"""Of an index of IVFFlat. A table of fewer rows has none: all vectors of a partition are compared."""
GROWTH = 4
"""IVFFlat is trained anew when the table has this many times the rows."""
BYTES_BESIDE = 80
"""Bytes of a row beside its numbers, which have two each."""
PROBED = 0.6
"""Share of the lists that a search looks at. Of the 50 nearest of 20,000 real sentences, 20 lists named .87, .92, .95 and .98 with shares of
.2, .3, .4 and .6; of those of an agent with a twentieth of them .69, .78, .85 and more than .9. LongMemEval's development turns by MiniLM, 29
November 2026."""
LARGEST_LIST = 1_000
SMALLEST_LIST = 200
LISTED = 4
"""Candidates that HNSW keeps for each that it names: with 2, of the 50 nearest of 20,000 real sentences .98 were named, with 4 .995."""

_LISTS = "coalesce(substring(array_to_string(c.reloptions, ',') FROM 'lists=([0-9]+)')::int, 0)"
_HELD = f"SELECT a.amname, {_LISTS} FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = to_regclass(%(index)s)"
_SETTINGS = f"""
    SELECT set_config('hnsw.ef_search', %(length)s::text, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
        set_config('ivfflat.iterative_scan', 'relaxed_order', true),
        set_config('ivfflat.probes', greatest(1, ceil({PROBED} * (SELECT {_LISTS} FROM pg_class c WHERE c.oid = to_regclass(%(index)s))))::text, true)
"""
"""They hold for a transaction. Candidates are scored and put in order afterwards."""

_LOG = logging.getLogger("alma")


def index_statement(table: str, extension: str, *, lists: int = 0) -> str:
    """The statement that makes the index: with `lists` of IVFFlat, else HNSW. `table` has its schema."""
    kind, options = (IVFFLAT, f" WITH (lists = {lists})") if lists else ("hnsw", "")
    name = table.partition(".")[2]
    return f"CREATE INDEX {name}_vector ON {table} USING {kind} (vector {extension}.halfvec_ip_ops){options}"


@dataclass(slots=True)
class VectorIndex:
    """The index over a table, of the kind that the configuration names."""

    database: PostgresDatabase
    table: str
    """With its schema."""
    extension: str
    dimension: int
    _is_refused: bool = field(default=False, init=False)

    @property
    def grows(self) -> bool:
        """True for an index that is to be fitted after writes, too."""
        return self.database.address.index_type == IVFFLAT

    def fit(self, project: str) -> None:
        """Makes the index anew where it is missing, of another kind, or has too few lists for the table. Where this role may not, one warning
        says so. Meanwhile searches compare all vectors of a partition, and writes of vectors wait."""
        if self._is_refused:
            return
        with self.database.reading() as session:
            fits, _ = self._look(session)
        try:
            if not fits and self._change(project, is_made=False):
                self._change(project, is_made=True)
        except StorageError as error:
            self._is_refused = not isinstance(
                error.__cause__, BUSY
            )  # a table that others use is tried again at the next opening or growth
            _LOG.warning("No index of vectors of the kind %s could be made: %s", self.database.address.index_type, error)

    def set_for_search(self, session: PostgresSession, limit: int) -> None:
        """Has the searches of a transaction look far enough for `limit` memories."""
        length = min(max(LISTED * limit, SMALLEST_LIST), LARGEST_LIST)
        session.execute(_SETTINGS, {"length": length, "index": self._name})

    @property
    def _name(self) -> str:
        return f"{self.table}_vector"

    def _change(self, project: str, *, is_made: bool) -> bool:
        """Drops or makes the index, in a transaction each: a table is locked for searches by the first. False while another process does it."""
        with self.database.transaction(f"{project}/nearest") as session:
            key = lock_key(self._name)
            if not session.execute(f"SELECT pg_try_advisory_xact_lock({key})", {}).fetchone()[0]:  # type: ignore[index] # one row, always
                return False
            fits, lists = self._look(session)
            if not fits and is_made and (lists or not self.grows):
                session.execute(index_statement(self.table, self.extension, lists=lists), {})
            elif not fits and not is_made:
                session.execute(f"DROP INDEX IF EXISTS {self._name}", {})
        return True

    def _look(self, session: PostgresSession) -> tuple[bool, int]:
        """Returns whether the index is as it should be, and how many lists it should have: 0 for HNSW, and for a small table."""
        found = session.execute(_HELD, {"index": self._name}).fetchone()
        kind, held = (str(found[0]), int(found[1])) if found else ("", 0)
        if not self.grows:
            return kind == "hnsw", 0
        size = session.execute("SELECT pg_table_size(%(table)s)", {"table": self.table}).fetchone()
        lists = int(size[0]) // (2 * self.dimension + BYTES_BESIDE) // ROWS_OF_A_LIST  # type: ignore[index] # one row, always
        return (kind == IVFFLAT and lists < GROWTH * held) or not (kind or lists), lists
