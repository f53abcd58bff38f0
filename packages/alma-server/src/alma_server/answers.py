"""Answers to requests with an idempotency key: references that an answer can be rendered from, kept for a day, never words. While a request runs,
the process that carries it out stands in their place."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import BigInteger, Column, Engine, Integer, MetaData, String, Table, Text, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from alma_events.service_db import create_tables
from alma_server.holders import has_ended, this_process
from alma_server.problems import ProblemError
from alma_server.sent import RUNNING_SECONDS, Sent

KEPT_SECONDS = 24 * 3600
"""How long an answer is kept."""

_LOST = 2
"""State of a request that was carried out and whose answer was lost."""

_ID = re.compile(r"[\w.:@+-]{0,100}", re.ASCII)
_METADATA = MetaData()
_TABLE = Table(
    "idempotency",
    _METADATA,
    Column("token", String(64), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("route", String(64), primary_key=True),
    Column("body_sha256", String(64), nullable=False),
    Column("is_done", Integer, nullable=False),
    Column("refs", Text, nullable=False),
    Column("expires", BigInteger, nullable=False, index=True),
)


class Answers:
    """The answers of a day, in the side database of a store. Threads and processes may share them."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock
        create_tables(engine, _METADATA)

    def begin(self, sent: Sent, *, is_counted_once: bool) -> Any:
        """Returns the references of the first answer, or `None` where this request is to be carried out.

        `ProblemError`: 422 if the key came with another body, 409 while the first request runs, or if its answer was lost. One whose process
        has ended runs no more; what it may have stored is stored again, unless the core counts it once.
        """
        now = int(self._clock())
        new = {**asdict(sent), "is_done": 0, "refs": this_process(), "expires": now + RUNNING_SECONDS}
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_TABLE).where(_TABLE.c.expires <= now))
                row = connection.execute(select(_TABLE).where(_where(sent))).one_or_none()
                if row is None:
                    connection.execute(insert(_TABLE).values(new))
                    return None
                is_same = row.body_sha256 == sent.body_sha256
                if is_same and is_counted_once and not row.is_done and has_ended(row.refs):
                    abandoned = (_where(sent), _TABLE.c.is_done == 0, _TABLE.c.refs == row.refs)
                    if connection.execute(update(_TABLE).where(*abandoned).values(new)).rowcount:
                        return None
        except IntegrityError:  # another process was quicker
            raise _still_running() from None
        if row.body_sha256 != sent.body_sha256:
            raise ProblemError(422, "idempotency-key-reused", "this Idempotency-Key came with another request before")
        if not row.is_done:
            raise _still_running()
        if row.is_done == _LOST:
            raise ProblemError(
                409, "answer-lost", "the first request with this Idempotency-Key was carried out; its answer was lost"
            )
        return json.loads(row.refs)

    def keep_running(self, sent: Sent) -> None:
        """Says that a request still runs."""
        running = update(_TABLE).where(_where(sent), _TABLE.c.is_done == 0)
        with self._engine.begin() as connection:
            connection.execute(running.values(expires=int(self._clock()) + RUNNING_SECONDS))

    def finish(self, sent: Sent, refs: object) -> None:
        """Keeps the references of an answer: ids and numbers, and lists and objects of them. `TypeError` for words."""
        _check(refs)
        values = {"is_done": 1, "refs": json.dumps(refs), "expires": int(self._clock()) + KEPT_SECONDS}
        with self._engine.begin() as connection:
            connection.execute(update(_TABLE).where(_where(sent)).values(values))

    def lose(self, sent: Sent) -> None:
        """Keeps, as long as an answer, that a request was carried out whose answer is not kept."""
        values = {"is_done": _LOST, "refs": "", "expires": int(self._clock()) + KEPT_SECONDS}
        with self._engine.begin() as connection:
            connection.execute(update(_TABLE).where(_where(sent)).values(values))

    def forget(self, sent: Sent) -> None:
        """Forgets a request that was refused, so that it may be sent again."""
        with self._engine.begin() as connection:
            connection.execute(delete(_TABLE).where(_where(sent)))


def _where(sent: Sent) -> Any:
    """Returns the condition that finds the row of a request."""
    return (_TABLE.c.token == sent.token) & (_TABLE.c.key == sent.key) & (_TABLE.c.route == sent.route)


def _still_running() -> ProblemError:
    return ProblemError(
        409, "still-running", "the first request with this Idempotency-Key still runs", headers={"Retry-After": "1"}
    )


def _check(refs: object) -> None:
    if isinstance(refs, list | tuple):
        for each in refs:
            _check(each)
    elif isinstance(refs, dict):
        _check([*refs, *refs.values()])
    elif isinstance(refs, str) and not _ID.fullmatch(refs):
        raise TypeError("a reference is an id, not words")
    elif not isinstance(refs, str | int | float | None):
        raise TypeError(f"a reference is an id or a number, not {type(refs).__name__}")
