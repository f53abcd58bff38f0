"""The stems of words that are opposites of each other."""

from functools import cache, lru_cache
from importlib.resources import files

from alma_learning.stems import stem

_UNDOING = ("un", "de", "dis", "non", "im", "in", "ir", "a", "mis", "anti")
_LEAST = 4


@lru_cache(maxsize=16_384)
def opposites(word: str) -> frozenset[str]:
    """Returns the opposites of a stem: those that are listed, and what is left of it without a prefix that undoes."""
    undone = (
        word[len(prefix) :]
        for prefix in _UNDOING
        if word.startswith(prefix) and len(word) >= _LEAST + len(prefix) - (prefix == "un")
    )
    return _both_ways().get(word, frozenset()).union(undone)


@cache
def _both_ways() -> dict[str, frozenset[str]]:
    listed: dict[str, set[str]] = {}
    for line in files("alma_knowledge").joinpath("opposites.txt").read_text(encoding="utf-8").splitlines():
        left, right = ([stem(word) for word in side.split()] for side in line.split("/"))
        for one in left:
            for other in right:
                listed.setdefault(one, set()).add(other)
                listed.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in listed.items()}
