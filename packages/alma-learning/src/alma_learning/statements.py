"""SQL statements in a text, and whether one holds the keywords that a pattern names: `SELECT *`, `ORDER BY RAND()`."""

import re
from collections.abc import Iterable

READ_CHARS = 20_000
_STATEMENT = re.compile(
    r"""\s*(?:explain\s+)?(?:select\b.+\bfrom\b | insert\s+into\b | update\b.+\bset\b | delete\s+from\b | truncate\s+table\b | merge\s+into\b
      | (?:alter|create|drop)\s+(?:\w+\s+){0,2}(?:column|database|function|index|role|schema|table|trigger|type|user|view)\b
      | lock\s+table\b | (?:grant|revoke)\b.+\bon\b | with\b.+\bselect\b)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TOKEN = re.compile(r"\w+|\*")
_KEYWORDS = re.compile(r"(?<!\S)[A-Z]{2,}\b(?:\(\))?(?:\s+(?:[A-Z]{2,}\b(?:\(\))?|\*))*")


def read_statement(text: str) -> str | None:
    """Returns the words of an SQL statement in capitals, a space around each; `None` for a text that is none."""
    return _spaced(text[:READ_CHARS]) if _STATEMENT.match(text, 0, READ_CHARS) else None


def read_keywords(text: str) -> tuple[str, ...]:
    """Returns what stands in capitals in a pattern, phrase by phrase, a space around each word."""
    return tuple(_spaced(phrase) for phrase in _KEYWORDS.findall(text))


def holds(statement: str, phrases: Iterable[str]) -> bool:
    """Returns True if a statement holds all the phrases."""
    return all(phrase in statement for phrase in phrases)


def _spaced(text: str) -> str:
    return f" {' '.join(_TOKEN.findall(text.upper()))} ".replace(" UNION ALL ", " UNION_ALL ")
