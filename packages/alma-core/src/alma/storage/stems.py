"""Stems of words, as full text compares them: equal in every store, with every version of SQLite."""

import re
import unicodedata
from functools import lru_cache

import Stemmer

from alma.text import words

_PORTER = Stemmer.Stemmer("porter", 0)
"""Keeps no words itself, so that `stem.cache_clear` forgets them all. Threads share it: a call holds the interpreter's lock."""

SHORTEST = 3
"""Least length of a word that has an ending."""

_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Returns a word without its ending, by Porter's rules for English. A word of one or two letters stays: "s" has no stem."""
    return str(_PORTER.stemWord(word)) if len(word) >= SHORTEST else word


def stems(text: str) -> list[str]:
    """Returns the stems of the words of a text, in order. Case and accents of Latin letters make no difference."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold())))
    return [*map(stem, words(text))]
