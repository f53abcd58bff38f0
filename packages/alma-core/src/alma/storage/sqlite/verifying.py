"""Looks for damage in a file: its pages, what holds for all of it, and what `alma.storage.relational.verifying` looks at."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from alma.storage.relational.checks.expected import Report
from alma.storage.relational.checks.findings import Findings
from alma.storage.relational.logical import View
from alma.storage.relational.seal import Seal
from alma.storage.relational.verifying import examine
from alma.storage.sqlite.checks.file import check_file
from alma.storage.sqlite.checks.full_text import check_full_text
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.session import Connection
from alma.types.reports import VerifyReport

DAMAGE = (sqlite3.DatabaseError,)
"""Errors of the driver that damage may raise."""


def verify(database: Database, *, seal: Seal) -> VerifyReport:
    """Lists what is wrong with the database, each problem with its place. Reads a consistent view, while others may go on writing."""
    with database.snapshot_apart() as connection:
        return examined(connection, seal=seal).report()


def examined(connection: Connection, *, seal: Seal) -> Findings:
    """Looks through all that a connection sees."""
    findings = Findings(stopping=DAMAGE)
    with any_text(connection):
        examine(
            connection,
            findings,
            seal=seal,
            check_store=lambda projects: check_file(connection, [] if seal.is_secret else projects, findings),
            check_text=_check_nothing if seal.is_secret else check_full_text,
        )
    return findings


def _check_nothing(view: View, report: Report) -> None:
    """The full text of an encrypted store is in memory alone."""


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Has the driver read damaged text as well, which it would refuse: so it is compared, and its place named."""
    before, connection.text_factory = connection.text_factory, lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before
