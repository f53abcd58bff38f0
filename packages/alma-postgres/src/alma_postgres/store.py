"""A store in a schema of a PostgreSQL database."""

from dataclasses import replace
from datetime import datetime

import psycopg
from psycopg import sql

from alma.errors import ConfigurationError, ConflictError, CorruptStoreError, StorageError
from alma.storage.relational.reembedding import drop_unused
from alma.storage.relational.session import OpenSeal, Seal, Session
from alma.storage.relational.store import RelationalStore
from alma.storage.relational.tables import metadata
from alma.storage.relational.text_index import TextRows
from alma.types.identity import to_micros
from alma.types.stored import StoreRequest, VectorsRequest
from alma_postgres.address import NO_INDEX, Address
from alma_postgres.compiling import table_names
from alma_postgres.database import BUSY_SECONDS, PostgresDatabase, limit_of
from alma_postgres.driver_errors import translated
from alma_postgres.migrations import applied_migrations, drop_retired, is_former, migrate, missing_migrations
from alma_postgres.nearest import NearestTable, nearest_of
from alma_postgres.session import PostgresSession
from alma_upgrade.projects import log_upgrade, upgrade_projects

DRAFT = "_moving"


class PostgresStorage(RelationalStore):
    """A store on a PostgreSQL server. Shared by threads, processes and machines."""

    def __init__(self, address: Address, *, at: datetime, seal: Seal | None = None, lock_timeout: float | None = None) -> None:
        """Opens a store that exists and brings its tables up to date. `StorageError` if it cannot, `CorruptStoreError` if it is damaged."""
        self.database = PostgresDatabase(address, lock_timeout=lock_timeout)
        try:
            self._migrate(seal or OpenSeal(), to_micros(at))
            super().__init__(self.database, TextRows(), seal=seal)
        except BaseException:
            self.database.close()
            raise

    def _migrate(self, seal: Seal, at: int) -> None:
        schema = self.database.schema
        with self.database.reading() as session:
            applied = applied_migrations(session, schema)
        if not applied:
            raise CorruptStoreError(
                f"{self.database.name} holds no store of ALMA; give another schema, or restore it from a backup"
            )
        if is_former(applied) or missing_migrations(applied):
            self._upgrade(seal, at)

    def _upgrade(self, seal: Seal, at: int) -> None:
        """Brings the store of a former version to today's layout, in one transaction. Other processes wait with writes meanwhile."""
        schema, name = self.database.schema, self.database.name
        try:
            with self.database.transaction() as session:
                former = is_former(applied_migrations(session.connection, schema))
                reports = list(upgrade_projects(session, TextRows(), seal, at=at)) if former else []
                if former:
                    drop_retired(session.connection, schema, at=at)
                migrate(session, schema, seal, at=at)
        except StorageError as error:
            if isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
                raise ConfigurationError(
                    f"{name} is of a former ALMA, and this role may not change its tables: open it once as their owner, say by `alma verify`"
                ) from error
            raise
        if former:
            log_upgrade(name, reports)

    @property
    def file(self) -> str:
        """The address, as messages show it."""
        return self.database.name

    def candidate_search(self, request: VectorsRequest) -> NearestTable | None:
        """The search of a project's vectors by pgvector; `None` where this database has it not, or it is not wanted."""
        return nearest_of(self.database, request) if self.database.address.index_type != NO_INDEX else None

    def size(self) -> int:
        """Bytes on the server's disk, indexes included."""
        tables = [f'"{self.database.schema}"."{name}"' for name in table_names()]
        with self.database.reading() as session:
            query = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name"
            ((size,),) = session.execute(query, (tables,)).fetchall()
        return int(size or 0)

    def compact(self) -> bool:
        """Drops vectors that no passage has and no strategy is compared by, and gives the room of deleted rows free again.

        Returns whether all tables could be looked through: only their owner may.
        """
        with self.database.transaction() as session:
            drop_unused(session, self.seal)
        warnings: list[str] = []

        def note(diagnostic: psycopg.errors.Diagnostic) -> None:
            warnings.append(str(diagnostic.message_primary))

        with self.database.alone() as connection:
            connection.add_notice_handler(note)
            try:
                for name in table_names():
                    connection.execute(sql.SQL("VACUUM (SKIP_LOCKED) {}").format(sql.Identifier(self.database.schema, name)))
            finally:
                connection.remove_notice_handler(note)
        return not warnings

    def continue_numbers(self, session: Session) -> None:
        """Has row numbers go on after all that were copied, passages that are gone included."""
        schema, names = self.database.schema, [name for name in table_names() if metadata.tables.get(name) is not None]
        numbered = [name for name in names if "row" in metadata.tables[name].columns]
        for name in numbered:
            gone = f'(SELECT max(passage) FROM "{schema}".removed)' if name == "passage" else "0"
            newest = f'greatest((SELECT max("row") FROM "{schema}"."{name}"), {gone}, 1)'
            query = f"SELECT setval(pg_get_serial_sequence(%(table)s, 'row'), {newest})"
            _session(session).execute(query, {"table": f'"{schema}"."{name}"'})

    def take_place(self) -> None:
        """Gives the schema of a draft the name that it was made for."""
        schema = self.database.schema
        target = replace(self.database.address, schema=schema.removesuffix(DRAFT))
        check_free(target)
        with self.database.transaction() as session:
            session.connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {}").format(sql.Identifier(target.schema)))
            renamed = sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(sql.Identifier(schema), sql.Identifier(target.schema))
            session.connection.execute(renamed)
        self.database.close()

    def discard(self) -> None:
        """Deletes the schema of a draft."""
        with self.database.transaction() as session:
            session.connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.database.schema)))
        self.database.close()

    def close(self) -> None:
        """Ends the use of the server here. Using the store afterwards is a `StorageError`."""
        self.database.close()


def is_made(address: Address, *, lock_timeout: float | None = None) -> bool:
    """Returns True if there is a store. It connects directly, so that a wrong address is an error at once."""
    try:
        with psycopg.connect(address.conninfo) as connection:
            connection.execute(limit_of(BUSY_SECONDS if lock_timeout is None else lock_timeout))
            return bool(applied_migrations(connection, address.schema))
    except psycopg.Error as error:
        raise translated(error, address.name) from error


def check_free(address: Address) -> None:
    """`ConflictError` if there is a store."""
    if is_made(address):
        raise ConflictError(f"there is a store at {address.name} already")


def create(address: Address, request: StoreRequest) -> None:
    """Makes a store where there is none: whole, or not at all. Of two processes that do so at once, one waits for the other.

    Where an administrator made the tables (`alma pg-setup`), it only notes which store this is.
    """
    if is_made(address, lock_timeout=request.lock_timeout) and _has_identity(address, request.lock_timeout):
        return
    fingerprint = request.fingerprint()
    database = PostgresDatabase(address, lock_timeout=request.lock_timeout)
    try:
        with database.transaction() as session:
            if not applied_migrations(session.connection, address.schema):
                session.connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(address.schema)))
                migrate(session, address.schema, OpenSeal(), at=to_micros(request.at))
            if not list(session.all("store_values")):
                PostgresStorage.begin(session, fingerprint)
    finally:
        database.close()


def _has_identity(address: Address, lock_timeout: float | None) -> bool:
    database = PostgresDatabase(address, lock_timeout=lock_timeout)
    try:
        with database.reading() as session:
            return bool(list(session.all("store_values")))
    finally:
        database.close()


def open_store(request: StoreRequest) -> PostgresStorage:
    """Opens the store of a configuration, made if it is not there yet. The `StorageFactory` of `postgres`."""
    address = Address.of(request.options)
    if request.is_draft:
        check_free(address)
        address = replace(address, schema=f"{address.schema}{DRAFT}")
    create(address, request)
    return PostgresStorage(address, at=request.at, lock_timeout=request.lock_timeout)


def _session(session: Session) -> PostgresSession:
    assert isinstance(session, PostgresSession)
    return session
