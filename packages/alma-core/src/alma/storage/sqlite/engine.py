"""Checks the SQLite of this Python."""

import sqlite3
from contextlib import closing

from alma.errors import ConfigurationError
from alma.storage.sqlite.database import OLDEST_SQLITE


def check_engine() -> str:
    """The version of SQLite. `ConfigurationError` if it is too old for ALMA or was built without full text."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise ConfigurationError(f"SQLite {version} is too old; ALMA needs {'.'.join(map(str, OLDEST_SQLITE[:2]))} or newer")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(words)")
        except sqlite3.Error as error:
            raise ConfigurationError(f"SQLite {version} was built without FTS5, which ALMA needs for full text") from error
    return version
