"""Prepares a question for the two searches."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from alma.text import spaced, telling_words

MAX_WORDS = 64
"""Full text matches only this many telling words of a longer query; vector search uses all of it."""


def query_words(task: str) -> Sequence[str]:
    """Returns the words to match in full text."""
    return telling_words(spaced(task))[:MAX_WORDS]


def without_names(task: str, names: frozenset[str]) -> str:
    """Returns the task without the names of agents, since who asks is no part of what is asked. Returns the task itself if nothing else
    is in it."""
    if not any(names):
        return task
    text = _folded(task)
    there = [name for name, folded in _foldings(names) if folded in text]
    rest = _any_of(frozenset(there)).sub(" ", task) if there else task
    return " ".join(rest.split()) if telling_words(rest) else task


def named_in(task: str, names: Iterable[str]) -> frozenset[str]:
    """Returns those of the names that stand in the task as words of their own, in any case."""
    text = _folded(task)
    return frozenset(name for name in names if name and _folded(name) in text and _any_of(frozenset({name})).search(task))


def addressed(task: str, names: frozenset[str]) -> str:
    """Returns the task as it is put to these people: "What did Ann do in her garden?" becomes "What did you do in her garden?", "Ann's" becomes
    "your". Without names, or with nothing else in the task, returns the task itself.

    People in a conversation are "I" and "you" to each other. So this is nearer to what they say than the bare rest "What did do in her garden?".
    """
    if not any(names) or without_names(task, names) == task:
        return task
    return _any_of(names).sub("you", _possessives_of(names).sub("your", task))


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
    return re.compile(rf"{_each(names)}(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=64)
def _possessives_of(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"{_each(names)}['’]s?(?!\w)", re.IGNORECASE)


def _each(names: frozenset[str]) -> str:
    known = sorted(map(re.escape, filter(None, names)), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(known)})"
