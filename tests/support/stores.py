"""Stores on disk for tests: one that holds something of everything, ways to tamper with it, and a driver that fails on demand."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.embedding import HashEmbedder
from alma.storage.sqlite.store import SQLStorage

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
TASK = "Test the login form of the shop"
FINGERPRINT = HashEmbedder(16).fingerprint


def open_alma(folder: Path, project: str = "shop", *, dimension: int | None = None) -> ALMA:
    """A memory that embeds by hashing."""
    return ALMA.open(folder, project_id=project, embedding_provider="hash", embedding_dim=dimension)


def new_storage(folder: Path, **given: Any) -> SQLStorage:
    """An empty database, opened."""
    SQLStorage.create(folder / "alma.db", FINGERPRINT, at=NOW)
    return SQLStorage(folder / "alma.db", at=NOW, **given)


@dataclass(frozen=True, slots=True)
class Filled:
    """A closed database that holds something of everything, and the ids of its memories by what they are."""

    path: Path
    ids: dict[str, str]


def fill(folder: Path) -> Filled:
    """Memories of all kinds, usage, feedback and a small record in the project `shop`; in a second one, `lab`, one that waits for the full text."""
    with open_alma(folder, dimension=16) as shop:
        ids = {
            "outcome": shop.learn("helena", TASK, "success", "Empty fields first", task_type="testing").id,
            "heuristic": shop.add_heuristic("helena", "On deploy", "Go blue-green").id,
            "anti_pattern": shop.add_anti_pattern("victor", "Using sleep for waits", "Flaky tests", "Explicit waits").id,
            "knowledge": shop.add_domain_knowledge("victor", "auth", "Tokens live a day. " * 90, metadata={"page": 3}).id,
            "preference": shop.add_user_preference("u1", "style", "Strict mode").id,
        }
        shop.record_usage([ids["outcome"], ids["heuristic"]], [ids["outcome"]], agent="helena")
        shop.record_feedback(ids["outcome"], signal="thumbs_up", agent="helena")
        shop.compact()
        lab = shop.for_project("lab")
        ids["lab"] = lab.learn("helena", "Mix two liquids", "failure", "Shaken", error_message="It broke").id
    path = folder / "alma.db"
    with closing(SQLStorage(path, at=NOW)) as storage:
        for version in (0, 1):
            with storage.project("shop").write(actor="helena", operation="save", at=1_000_000 + version) as write:
                write.put_record("session", "s1", {"step": version}, version=version)
    return Filled(path, ids)


def execute(path: Path, *statements: str) -> None:
    """Runs statements behind ALMA's back. Each has to touch a row."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, statement


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query, read behind ALMA's back."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


class Driver:
    """A driver whose statements can be made to do something before they run. `open` counts its connections."""

    def __init__(self) -> None:
        self.before: Callable[[str], None] | None = None
        self.open = 0

    @contextmanager
    def doing(self, before: Callable[[str], None]) -> Any:
        """Calls `before` with each statement of any connection, while the block lasts."""
        self.before = before
        try:
            yield
        finally:
            self.before = None

    def connect(self, *arguments: Any, **named: Any) -> sqlite3.Connection:
        """Like `sqlite3.connect`, which it replaces."""
        driver = self
        base: Any = named.pop("factory", sqlite3.Connection)

        class Connection(base):
            def close(self) -> None:
                driver.open -= 1
                super().close()

            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                driver._watch(sql)
                return super().execute(sql, *values)

            def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
                driver._watch(sql)
                return super().executemany(sql, *values)

        driver.open += 1
        return _CONNECT(*arguments, factory=Connection, **named)

    def _watch(self, sql: str) -> None:
        if self.before is not None:
            self.before(sql)


_CONNECT = sqlite3.connect
