"""Budgets: how often a model may be asked, and for how many tokens, in one use and in a day."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock

from alma.errors import StorageError, ValidationError
from alma.protocols import LLM
from alma.types.identity import utc_now
from alma_knowledge.llm.calling import Answer, Schema, ask
from alma_knowledge.llm.errors import BudgetError

CHARS_A_TOKEN = 4
"""Where a model does not say how many tokens it used: a usual figure for English."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of a model, and the tokens that went in and came out."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the use of a model; `None` is no limit. Those of a day hold for all processes of a memory, from midnight UTC on."""

    max_calls: int | None = None
    max_tokens: int | None = None
    calls_a_day: int | None = None
    tokens_a_day: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_tokens", "calls_a_day", "tokens_a_day"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ValidationError(f"{name} must be a number from 0 on, not {value!r}")


class DailyUsage:
    """The use of models by day, in a file that processes share. It holds numbers alone. Thread-safe."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        """`path` is that of the file, which is made when something is first counted."""
        self._path, self._now = path, now

    def today(self) -> Usage:
        """Returns the use of this day (UTC)."""
        if not self._path.exists():
            return Usage()
        with self._open() as connection:
            row = connection.execute("SELECT calls, prompt_tokens, completion_tokens FROM usage WHERE day = ?", (self._day(),))
            return Usage(*(row.fetchone() or ()))

    def add(self, used: Usage) -> None:
        """Adds to the use of this day."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            connection.execute(_ADD, {"day": self._day(), **{name: getattr(used, name) for name in Usage.__slots__}})

    def _day(self) -> str:
        return f"{self._now():%Y-%m-%d}"

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=30.0)) as connection, connection:
                connection.execute(_TABLE)
                yield connection
        except sqlite3.Error as error:
            raise StorageError(f"the use of language models cannot be counted in {self._path}: {error}") from error


_TABLE = """CREATE TABLE IF NOT EXISTS usage
    (day TEXT PRIMARY KEY, calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL)"""
_ADD = """INSERT INTO usage VALUES (:day, :calls, :prompt_tokens, :completion_tokens) ON CONFLICT (day) DO UPDATE SET calls = calls + :calls,
    prompt_tokens = prompt_tokens + :prompt_tokens, completion_tokens = completion_tokens + :completion_tokens"""


@dataclass(slots=True)
class MeteredLLM:
    """A model within a budget. Thread-safe. A call that would go over it raises `BudgetError`; one that is under way is not cut off."""

    model: LLM
    budget: Budget = field(default_factory=Budget)
    daily: DailyUsage | None = None
    """Where the use of a day is kept. Without it that of this object counts."""
    used: Usage = field(default_factory=Usage, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def complete(self, prompt: str, /) -> str:
        """Returns the model's answer."""
        return self.answer(prompt).text

    def answer(self, prompt: str, *, schema: Schema | None = None) -> Answer:
        """Returns the model's answer, and counts it. What failed counts as a call."""
        expected = Usage(1, estimate_tokens(prompt))
        self._check(expected)
        used = expected
        try:
            answer = ask(self.model, prompt, schema=schema)
            used = Usage(1, *answer.tokens) if answer.tokens else expected + Usage(0, 0, estimate_tokens(answer.text))
        finally:
            self._count(used)
        return answer

    def _check(self, more: Usage) -> None:
        limits, own = self.budget, self.used + more
        has_daily = limits.calls_a_day is not None or limits.tokens_a_day is not None
        today = self.daily.today() + more if self.daily is not None and has_daily else own
        for name, used, most in (
            ("calls", own.calls, limits.max_calls),
            ("tokens", own.tokens, limits.max_tokens),
            ("calls a day", today.calls, limits.calls_a_day),
            ("tokens a day", today.tokens, limits.tokens_a_day),
        ):
            if most is not None and used > most:
                raise BudgetError(f"the budget of {most} {name} of the language model is used up; nothing was asked")

    def _count(self, used: Usage) -> None:
        with self._lock:
            self.used += used
        if self.daily is not None:
            self.daily.add(used)


def estimate_tokens(text: str) -> int:
    """Returns about how many tokens a text has."""
    return -(-len(text) // CHARS_A_TOKEN)
