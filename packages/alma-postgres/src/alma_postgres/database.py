"""A database as the shared code uses it: single looks, consistent views, writes under the project's lock."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import Connection, OperationalError
from psycopg.pq import TransactionStatus

from alma.errors import StorageError
from alma.forking import renewed_in_children
from alma.storage.relational.session import timeout_here
from alma_postgres.address import Address
from alma_postgres.compiling import Texts
from alma_postgres.connections import release, shared_connections
from alma_postgres.driver_errors import DriverErrors, locked
from alma_postgres.session import PostgresSession, roll_back

BUSY_SECONDS = 30.0
"""How long a call waits for others that write, unless the store or the caller asks for another time."""

VIEW = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"


@dataclass(slots=True)
class _Use:
    """A session while a thread uses it, by `blocks` nested `with` blocks."""

    session: PostgresSession
    blocks: int = 0


class PostgresDatabase:
    """An open address. No state is left in a session of the server between two transactions, so a pooler may stand between."""

    def __init__(self, address: Address, *, lock_timeout: float | None = None) -> None:
        self.address = address
        self.texts = Texts(address.schema)
        self._lock_timeout = lock_timeout
        self._errors = DriverErrors(address.name)
        self._shared = shared_connections(address)
        self._is_closed = False
        self.renew_in_child()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Forgets which connections the parent's threads were using."""
        self._mine = threading.local()
        self._closing = threading.RLock()

    @property
    def name(self) -> str:
        """The address without its password."""
        return self.address.name

    @property
    def schema(self) -> str:
        """The schema that holds the tables."""
        return self.address.schema

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A session for single looks: the same in a block inside another."""
        with self._errors, self._used() as use:
            yield use.session

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSession]:
        """A consistent view. Nested in another one of this thread, the view of that."""
        with self._errors, self._used() as use:
            session = use.session
            if _status(session.connection) == TransactionStatus.INTRANS:
                yield session
                return
            with self._view(session):
                yield session

    @contextmanager
    def snapshot_apart(self) -> Iterator[PostgresSession]:
        """As `snapshot`, on a connection of its own."""
        with self._errors, self._apart() as session, self._view(session):
            yield session

    @contextmanager
    def transaction(self, project: str | None = None) -> Iterator[PostgresSession]:
        """A write under the lock of a project; without one, of the whole store. The lock ends with the transaction.

        When the connection breaks while it commits, it is unknown whether the write landed: the error says so.
        """
        me, shared = threading.get_ident(), self._shared
        if me in shared.inside:
            raise StorageError(f"{self.name}: this thread is in the middle of a write; it can write again when that has landed")
        waits = self._waits()
        with (
            self._errors,
            _noted(shared.inside, me),
            shared.turn(project, self._asked(), lambda: locked(self.name, waits)),
            self._apart(is_write=True) as session,
        ):
            session.connection = shared.begun(session.connection, self._locking(project, waits), waits)
            try:
                yield session
                self._commit(session.connection)
            except BaseException:
                roll_back(session.connection)
                raise

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A connection outside of any transaction: for statements such as VACUUM."""
        with self._errors, self._apart() as session:
            session.connection = self._shared.begun(session.connection, "SELECT 1", self._waits())
            yield session.connection

    def close(self) -> None:
        """Ends the use of the address here."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        release(self._shared)

    def _asked(self) -> float | None:
        here = timeout_here()
        return self._lock_timeout if here is None else here

    def _waits(self) -> float:
        asked = self._asked()
        return BUSY_SECONDS if asked is None else asked

    def _locking(self, project: str | None, waits: float) -> str:
        """Begins a write and takes its locks, in one message. Only whole numbers are put into it."""
        store = f"({lock_key(self.schema)})"
        locks = f"pg_advisory_xact_lock{store}"
        if project is not None:
            locks = f"pg_advisory_xact_lock_shared{store}, pg_advisory_xact_lock({lock_key(f'{self.schema}/{project}')})"
        return f"{WRITE}; {limit_of(waits)}; SELECT {locks}"

    def _commit(self, connection: Connection) -> None:
        try:
            connection.execute("COMMIT")
        except OperationalError as error:
            raise StorageError(
                f"{self.name}: the connection broke while a write was committed ({' '.join(str(error).split())}). It landed whole or not at all: "
                "look before you repeat it, or repeat it under the same idempotency key"
            ) from error

    @contextmanager
    def _used(self) -> Iterator[_Use]:
        """Returns what this thread is using, else a connection taken for the block."""
        mine = self._mine
        found: _Use | None = getattr(mine, "use", None)
        use = found if found is not None and found.blocks else _Use(self._session(self._renewed))
        mine.use = use
        use.blocks += 1
        try:
            yield use
        finally:
            use.blocks -= 1
            if not use.blocks:
                if getattr(mine, "use", None) is use:
                    mine.use = None
                self._shared.give_back(use.session.connection)

    @contextmanager
    def _apart(self, *, is_write: bool = False) -> Iterator[PostgresSession]:
        """A connection for this block alone: what the thread does meanwhile gets another."""
        mine = self._mine
        session = self._session(None if is_write else self._renewed)
        before, mine.use = getattr(mine, "use", None), None
        try:
            yield session
        finally:
            mine.use = before
            self._shared.give_back(session.connection)

    @contextmanager
    def _view(self, session: PostgresSession) -> Iterator[None]:
        session.connection = self._shared.begun(session.connection, f"{VIEW}; {limit_of(self._waits())}", self._waits())
        try:
            yield
        finally:
            roll_back(session.connection)

    def _session(self, renew: Callable[[Connection], Connection] | None) -> PostgresSession:
        return PostgresSession(self._take(), self.texts, lambda: limit_of(self._waits()), renew)

    def _take(self) -> Connection:
        if self._is_closed:
            raise StorageError(f"{self.name} was closed; open ALMA again")
        return self._shared.take(self._waits())

    def _renewed(self, connection: Connection) -> Connection:
        return self._shared.renewed(connection, self._waits())


@contextmanager
def _noted(threads: set[int], thread: int) -> Iterator[None]:
    try:
        threads.add(thread)
        yield
    finally:
        threads.discard(thread)


def limit_of(seconds: float) -> str:
    """The statement after which a transaction waits this long for each lock. It has whole numbers only."""
    return f"SET LOCAL lock_timeout = {max(1, round(seconds * 1000))}"


def lock_key(name: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(hashlib.blake2b(f"alma/{name}".encode(), digest_size=8).digest(), "big", signed=True)


def _status(connection: Connection) -> TransactionStatus:
    return connection.info.transaction_status
