"""What is asked, made ready for the two searches."""

import re
from collections.abc import Sequence
from functools import lru_cache

from alma.text import telling_words

MAX_WORDS = 64
"""Of a longer query only the first telling words are matched; its meaning is searched whole."""


def query_words(task: str) -> Sequence[str]:
    """The words to match in full text."""
    return telling_words(task)[:MAX_WORDS]


def without_names(task: str, names: frozenset[str]) -> str:
    """The task without the names of agents: who asks says nothing about what is asked. The task itself if nothing else is in it."""
    if not any(names):
        return task
    text = _folded(task)
    there = [name for name, folded in _foldings(names) if folded in text]
    rest = _any_of(frozenset(there)).sub(" ", task) if there else task
    return " ".join(rest.split()) if telling_words(rest) else task


@lru_cache(maxsize=64)
def _foldings(names: frozenset[str]) -> list[tuple[str, str]]:
    """Each name with the form in which texts are searched for it: far quicker than by a pattern of thousands."""
    return [(name, _folded(name)) for name in names if name]


def _folded(text: str) -> str:
    """Equal for any two texts that are the same but for their case; those of parts are parts of it."""
    return text.upper().casefold()


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    """What finds each of the names, the longest first."""
    known = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)", re.IGNORECASE)
