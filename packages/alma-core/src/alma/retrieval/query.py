"""Prepares a question for the two searches."""

import re
from collections.abc import Sequence
from functools import lru_cache

from alma.text import telling_words

MAX_WORDS = 64
"""Full text matches only this many telling words of a longer query; vector search uses all of it."""


def query_words(task: str) -> Sequence[str]:
    """Returns the words to match in full text."""
    return telling_words(task)[:MAX_WORDS]


def without_names(task: str, names: frozenset[str]) -> str:
    """Returns the task without the names of agents, since who asks is no part of what is asked. Returns the task itself if nothing else
    is in it."""
    if not any(names):
        return task
    text = _folded(task)
    there = [name for name, folded in _foldings(names) if folded in text]
    rest = _any_of(frozenset(there)).sub(" ", task) if there else task
    return " ".join(rest.split()) if telling_words(rest) else task


@lru_cache(maxsize=64)
def _foldings(names: frozenset[str]) -> list[tuple[str, str]]:
    """Returns each name with its folded form. Searching for these is far faster than a pattern of thousands of names."""
    return [(name, _folded(name)) for name in names if name]


def _folded(text: str) -> str:
    """Folds case, so that texts that differ only in case become equal. Folding a part gives a part of the folded text."""
    return text.upper().casefold()


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern that matches each of the names, the longest first."""
    known = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)", re.IGNORECASE)
