"""How the shared code meets a database: sessions that run statements by name, the time that calls wait for a locked one, and the checksum
of the store's values."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any, Protocol
from weakref import WeakValueDictionary

from alma.errors import CorruptStoreError, ValidationError
from alma.text import quoted

LONGEST_TIMEOUT = 3600.0

_SECONDS: ContextVar[float | None] = ContextVar("alma_lock_timeout", default=None)


@contextmanager
def lock_timeout(seconds: float) -> Iterator[None]:
    """Inside the block, calls wait this long for a store that is locked, instead of as long as the store usually does (30 seconds).

    Then they raise the `StorageError` that they raise otherwise; 0 does not wait at all. It holds for the thread or the task that entered the block,
    for all stores, and for the calls that an `AsyncALMA` makes for it. Of nested blocks the smaller number holds. `ValidationError` unless it is
    from 0 to 3600.
    """
    wanted, outer = checked_timeout(seconds), _SECONDS.get()
    _SECONDS.set(wanted if outer is None else min(wanted, outer))
    try:
        yield
    finally:
        _SECONDS.set(outer)


def checked_timeout(value: object) -> float:
    """Seconds from 0 to 3600."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_TIMEOUT:
        raise ValidationError(f"lock_timeout must be a number of seconds from 0 to {LONGEST_TIMEOUT:.0f}, not {quoted(value)}")
    return float(value)


def timeout_here() -> float | None:
    """The seconds that the innermost block asks for; `None` outside of any."""
    return _SECONDS.get()


Given = Mapping[str, Any]
"""The values that a statement is given, by name."""

NOTHING: Given = {}

VALUES = "VALUES "


class NotUniqueError(CorruptStoreError):
    """Raised by `Session.insert` when there is a row of that key. A caller that expects it says what it means."""


def split_at_values(statement: str) -> tuple[str, str, str]:
    """Returns a statement in three parts: what stands before its row of values, this row with its brackets, and the rest."""
    head, values, rest = statement.partition(VALUES)
    depths = accumulate((sign == "(") - (sign == ")") for sign in rest)
    end = next((at for at, depth in enumerate(depths, start=1) if not depth), None)
    if end is None:
        raise ValueError(f"no bracket closes the row of values of {statement!r}")
    return head + values, rest[:end], rest[end:]


class Session(Protocol):
    """Runs statements, named as in `statements`, in one transaction or one look. Used by one thread at a time."""

    def all(self, statement: str, given: Given = NOTHING, /) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds. They may be read from the database while the caller goes through them."""

    def each(self, statement: str, given: Given = NOTHING, /) -> Iterator[dict[str, Any]]:
        """As `all`, each row by column."""

    def many(self, statement: str, rows: Sequence[Given], /) -> Iterator[dict[str, Any]]:
        """The rows, by column, that a statement finds for each of the given ones. It takes all its values from `rows_of`."""

    def run(self, statement: str, given: Given = NOTHING, /) -> int:
        """Runs a statement, and returns how many rows it changed."""

    def insert(self, statement: str, given: Given, /) -> int:
        """Makes a row, and returns its number, which no row had before. `NotUniqueError` if its key is taken; the transaction goes on."""

    def run_many(self, statement: str, rows: Sequence[Given], /) -> int:
        """Runs a statement for each of the given rows, and returns how many rows it changed."""


class Database(Protocol):
    """Gives sessions. Errors of the driver leave its blocks as errors of ALMA."""

    @property
    def name(self) -> str:
        """The database as messages call it: a path, or an address without a password."""

    def reading(self) -> AbstractContextManager[Session]:
        """A session for single looks, the same in a block inside another. A statement sees what was committed when it began."""

    def snapshot(self) -> AbstractContextManager[Session]:
        """A consistent view. Nested in another one of this thread, the view of that."""

    def snapshot_apart(self) -> AbstractContextManager[Session]:
        """As `snapshot`, for long work with callbacks: what this thread does meanwhile sees the present, and may write."""

    def transaction(self, project: str | None = None) -> AbstractContextManager[Session]:
        """A write transaction: all of it lands, or none. Writes to one project follow each other; without a project it is that of the whole store.

        `StorageError` for a second one of this thread. A database that has one writer at a time need not look at the project.
        """


CHECKSUM = "checksum"


def checksum(session: Session) -> str:
    """The checksum of the other values as they are now."""
    values = sorted((key, value) for key, value in session.all("store_values") if key != CHECKSUM)
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def note_checksum(session: Session) -> None:
    """Stores the checksum anew. Every change of the table ends with this."""
    session.run("store_put", {"key": CHECKSUM, "value": checksum(session)})


def check_whole(session: Session) -> None:
    """`CorruptStoreError` if the values are not those that were stored: a checksum made of them anew would hide that."""
    if not is_whole(session):
        raise CorruptStoreError("the database's id or embedder is damaged; nothing was changed, restore it from a backup")


def is_whole(session: Session) -> bool:
    """Returns True if the values are those that were stored."""
    return dict(session.all("store_values")).get(CHECKSUM) == checksum(session)


class Commits:
    """Who is called after commits of this process, so that a reader of the journal need not poll for them.

    `followers` are called with the project and the first journal `seq` of a write, in the caller's thread, and with 0 when a project was opened. They
    must be quick and never raise. `opened` are the open projects by the `id` of their `Project`; an `ALMA` is made of each.
    """

    def __init__(self) -> None:
        self.followers: tuple[Callable[[Any, int], object], ...] = ()
        self.opened: WeakValueDictionary[int, Any] = WeakValueDictionary()


COMMITS = Commits()
