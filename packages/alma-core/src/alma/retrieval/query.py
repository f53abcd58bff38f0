"""What is asked, made ready for the two searches."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from alma.text import telling_words

MAX_WORDS = 64
"""Of a longer query only the first telling words are matched; its meaning is searched whole."""


def query_words(task: str) -> Sequence[str]:
    """The words to match in full text."""
    return telling_words(task)[:MAX_WORDS]


def without_names(task: str, names: Iterable[str]) -> str:
    """The task without the names of agents: who asks says nothing about what is asked. The task itself if nothing else is in it."""
    pattern = _any_of(frozenset(names) - {""})
    if pattern is None:
        return task
    rest = pattern.sub(" ", task)
    return " ".join(rest.split()) if telling_words(rest) else task


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str] | None:
    """What finds each of the names, the longest first; `None` if there are none."""
    known = sorted((re.escape(name) for name in names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)", re.IGNORECASE) if known else None
