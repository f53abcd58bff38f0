"""The database as the shared code sees it: sessions that run statements by name, how long calls wait for a locked one, the checksum of the store's
values, and the one seam through which text, payloads and vectors enter and leave the file, and keys as an encrypted store keeps them.

Kinds and keys of small records, operations in the journal and keys in the history index are encrypted part by part, equal keys equal, so that rows
are still found by them and by whole first parts. There is no order among stored keys: a list that needs one is sorted after it is read.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol
from weakref import WeakValueDictionary

from alma.errors import CorruptStoreError, ValidationError
from alma.text import SEPARATOR, quoted

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


def timeout_here(default: float | None = None) -> float | None:
    """The seconds that the innermost block asks for; the default outside of any."""
    here = _SECONDS.get()
    return default if here is None else here


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
    """Stores the checksum of the values as they are. Every change of the table ends with this."""
    session.run("store_put", {"key": CHECKSUM, "value": checksum(session)})


def check_whole(session: Session) -> None:
    """`CorruptStoreError` if the values are not those that were stored: a new checksum of them would hide the change."""
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


RowName = tuple[object, ...]
"""Names a row for good: numbers and texts that do not change while the row is there, its project first."""


class Seal(Protocol):
    """Protects bytes at rest. `place` names the table and column that the bytes belong to, `row` the row: they cannot be moved elsewhere."""

    @property
    def is_secret(self) -> bool:
        """True when nothing readable may be stored: the terms of full text are keyed then, and vector snapshots stay in memory."""

    @property
    def overhead(self) -> int:
        """Number of bytes that `seal` adds to any data."""

    def __hash__(self) -> int:
        """Keys are cached by seal."""

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the bytes that are stored."""

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the bytes that `seal` was given. `CorruptStoreError` if they were changed since, or are those of another row."""

    def hide(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that are stored of data that rows are found by: equal for equal data and place."""

    def reveal(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that `hide` was given. `CorruptStoreError` if it was changed since."""


class OpenSeal:
    """No protection beyond the file's own permissions."""

    is_secret = False
    overhead = 0

    def seal(self, data: bytes, /, *, place: str, row: RowName | None = None) -> bytes:
        """Returns the data as they are."""
        return data

    open = hide = reveal = seal


def revealed_hash(seal: Seal, stored: bytes, *, place: str) -> bytes:
    """Returns the hash that `hide` was given; a damaged one as it is stored, for it only orders and is compared. `verify` reports it."""
    try:
        return seal.reveal(stored, place=place)
    except ValueError:
        return stored


ENCRYPTION = "encryption"
"""The key in the `store` table of what opens an encrypted store. An open store has none."""

KEY, OPERATION, TERM = "record", "journal.operation", "text.term"
"""The places of keys, of operations and of terms in the seal."""

TERM_BYTES = 8
"""Of a hidden stem so much is a term: two stems of a million share one by a chance of 1 in 10 million."""

_HIDDEN_TABLES = ("record/", "evidence/")
"""Beginnings of the keys in the history index that name no memory; see `journal.entity`."""


class DamagedKeyError(CorruptStoreError, ValueError):
    """Stored text that is no encrypted key of this store. A `ValueError` as well, as other damage is where rows are decoded."""


def hide_key(seal: Seal, key: str, place: str = KEY) -> str:
    """Returns the stored form of a kind or key of a small record, of the beginning of a key up to a slash, or of an operation."""
    return "/".join(hide_text(seal, part, place) for part in key.split("/")) if seal.is_secret else key


def reveal_key(seal: Seal, stored: str, place: str = KEY) -> str:
    """Returns the key that `hide_key` got; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return "/".join(_reveal_or_keep(seal, part, place) for part in stored.split("/")) if seal.is_secret else stored


def hide_touched(seal: Seal, key: str) -> str:
    """Returns the stored form of a key in the history index. The ids of memories are no secret."""
    table, slash, rest = key.partition("/")
    return f"{table}/{hide_key(seal, rest)}" if table + slash in _HIDDEN_TABLES else key


def reveal_touched(seal: Seal, stored: str) -> str:
    """Returns the key that `hide_touched` got."""
    table, slash, rest = stored.partition("/")
    return f"{table}/{reveal_key(seal, rest)}" if table + slash in _HIDDEN_TABLES else stored


def terms_of(seal: Seal, stems: Sequence[str]) -> Sequence[str]:
    """Returns stems as full text keeps them in a file: an encrypted store has keyed hashes."""
    return [_hide_term(seal, stem) for stem in stems] if seal.is_secret else stems


@lru_cache(maxsize=20_000)
def _hide_term(seal: Seal, stem: str) -> str:
    """Returns the first bytes of the encrypted stem in hexadecimal: in deterministic AES-SIV they are a keyed hash of it."""
    return seal.hide(stem.encode(), place=TERM)[:TERM_BYTES].hex()


def forget_keys() -> None:
    """Empties the caches of keys, which may hold a purged one."""
    _hide_term.cache_clear()
    hide_text.cache_clear()
    reveal_text.cache_clear()


@lru_cache(maxsize=20_000)
def hide_text(seal: Seal, text: str, place: str) -> str:
    """Returns the text encrypted, in Base64."""
    return _as_text(seal.hide(text.encode(), place=place))


@lru_cache(maxsize=20_000)
def reveal_text(seal: Seal, stored: str, place: str) -> str:
    """Returns the text that `hide_text` got. `DamagedKeyError` if there is none."""
    try:
        data = urlsafe_b64decode(stored + "=" * (-len(stored) % 4))  # padded, as Base64 is written
        if _as_text(data) != stored:  # other texts decode to the same, and are not found by it
            raise ValueError(stored)
        return seal.reveal(data, place=place).decode()
    except ValueError as error:
        raise DamagedKeyError(f"an encrypted key ({place}) was changed or belongs elsewhere") from error


def _as_text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _reveal_or_keep(seal: Seal, stored: str, place: str) -> str:
    try:
        return reveal_text(seal, stored, place)
    except DamagedKeyError:
        return f"{SEPARATOR}{stored}"  # which no key is
