"""What full text makes of a text: its words without endings. Of plain text it is made here; of all other by FTS5's own tokenizer, which nothing
but an FTS5 table gives access to."""

import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

from alma.forking import renewed_in_children
from alma.storage.porter import stem

TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"

REMEMBERED = 16_384

_MARKS = re.compile("[\u2010-\u2027]+")
"""Dashes, quotation marks, bullets and dots, which stand in texts that are plain else. FTS5 takes them for no letters, either."""

_WORD = re.compile("[0-9a-z]+")


class Stemmer:
    """An FTS5 table in memory, empty but while it is asked, and the stems of the words met last. Thread-safe."""

    def __init__(self) -> None:
        self.remembered: dict[str, str] = {}
        self._open()
        renewed_in_children(self)

    def stems(self, words: Sequence[str], texts: Sequence[str] = ()) -> tuple[Sequence[str], Sequence[Mapping[str, int]]]:
        """The stems of the words of a question, each once, in order; and those of each text, with how often each stands there."""
        given = [*texts, *words]
        plain = [text if text.isascii() else _MARKS.sub(" ", text) for text in given]
        with self._lock:
            if len(self.remembered) > REMEMBERED:
                self.remembered = {}
            counted = [self._counted(text) if text.isascii() else {} for text in plain]
            foreign = [place for place, text in enumerate(plain) if not text.isascii()]
            for number, term in self._cut([given[place] for place in foreign]) if foreign else ():
                counts = counted[foreign[number]]
                counts[term] = counts.get(term, 0) + 1
        return list(dict.fromkeys(term for counts in counted[len(texts) :] for term in counts)), counted[: len(texts)]

    def forget(self) -> None:
        """Lets go of all words."""
        with self._lock:
            self.remembered.clear()

    def renew_in_child(self) -> None:
        """Another table, if a thread of the parent was using this one; that one is kept, for to close it would wait for that thread."""
        if self._lock.locked():
            self._left_open = self._connection
            self.remembered = {}
            self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, content='', {TOKENIZER})")
        self._connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab('one', 'instance')")

    def _counted(self, text: str) -> dict[str, int]:
        """The stems of a plain text, with how often each stands there."""
        remembered = self.remembered
        counts: dict[str, int] = {}
        for word in _WORD.findall(text.lower()):
            term = remembered.get(word)
            if term is None:
                term = remembered[word] = stem(word)
            counts[term] = counts.get(term, 0) + 1
        return counts

    def _cut(self, texts: Sequence[str]) -> list[tuple[int, str]]:
        """The stems of texts in any order, each with the number of its text, once for each time that it stands there."""
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany("INSERT INTO one (rowid, text) VALUES (?, ?)", enumerate(texts))
            return self._connection.execute("SELECT doc, term FROM stems").fetchall()
        finally:
            self._connection.execute("ROLLBACK")


@lru_cache(maxsize=1)
def stemmer() -> Stemmer:
    """The one of this process."""
    return Stemmer()
