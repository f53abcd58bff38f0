"""Exit codes, and the errors that lead to them."""

from enum import IntEnum

from alma.errors import (
    ConfigurationError,
    ConflictError,
    EmbeddingError,
    MemoryNotFoundError,
    ScopeViolationError,
    StorageError,
    ValidationError,
)


class Exit(IntEnum):
    """Exit code of the process."""

    DONE = 0
    PROBLEM = 1
    USAGE = 2
    STORAGE = 3
    REFUSED = 4
    MODEL = 5
    WARNED = 6


EXIT_CODES = """Exit codes:

\b
  0  done
  1  a problem was found (verify, doctor, demo)
  2  wrong usage, configuration or value; nothing was stored
  3  the store is not there, cannot be read or written, or is damaged
  4  refused: not allowed by scope, not there, or in conflict
  5  the embedding model failed
  6  a known failure matches the action (check)"""

_BY_ERROR: tuple[tuple[type[Exception], Exit], ...] = (
    (ConfigurationError, Exit.USAGE),
    (ValidationError, Exit.USAGE),
    (ScopeViolationError, Exit.REFUSED),
    (MemoryNotFoundError, Exit.REFUSED),
    (ConflictError, Exit.REFUSED),
    (EmbeddingError, Exit.MODEL),
    (StorageError, Exit.STORAGE),
    (OSError, Exit.STORAGE),
)


def exit_code(error: Exception) -> Exit:
    """Returns the exit code of an error. An error of several kinds has the code of the first."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), Exit.PROBLEM)
