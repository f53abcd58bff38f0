"""Errors of the driver, translated into errors of ALMA."""

from types import TracebackType

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout, TooManyRequests

from alma.errors import ConfigurationError, CorruptStoreError, StorageError

BUSY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)
_REFUSED = (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)
_NOT_OURS = (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName)
_WRONG_ADDRESS = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InvalidCatalogName,
)
_SIGNS_OF_WRONG_ADDRESS = ("authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry")


class DriverErrors:
    """Translates what the driver raises in a `with` block."""

    def __init__(self, name: str) -> None:
        """`name` is the address as messages show it."""
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, psycopg.Error):
            raise translated(error, self._name) from error


def locked(name: str, seconds: float) -> StorageError:
    """The error for a project that others write to for longer than a call waits."""
    return StorageError(f"{name} was locked by another process for more than {seconds:g} s; try again")


def translated(error: psycopg.Error, name: str) -> Exception:
    """The error of ALMA for one of the driver."""
    text = " ".join(str(error).split())
    if isinstance(error, PoolTimeout | TooManyRequests):
        return StorageError(
            f"{name}: no connection in time ({text}); the server is away, or all connections are in use: raise postgres.pool_size"
        )
    if isinstance(error, BUSY):
        return StorageError(f"{name} was locked by another process for too long ({text}); nothing was stored, try again")
    if isinstance(error, _REFUSED):
        return StorageError(f"{name}: {text}; see `alma pg-setup` for the rights that ALMA needs")
    if isinstance(error, _NOT_OURS):
        return CorruptStoreError(f"{name} is damaged ({text}); restore it from a backup")
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted | errors.IntegrityError):
        return CorruptStoreError(f"{name} is damaged ({text}); restore it from a backup, or see `alma verify`")
    if isinstance(error, _WRONG_ADDRESS) or any(sign in text for sign in _SIGNS_OF_WRONG_ADDRESS):
        return ConfigurationError(f"{name}: {text}; see the block `postgres` of the configuration")
    return StorageError(f"{name}: {text}; try again")
