"""The stems of words, made by FTS5's own tokenizer, which only an FTS5 table gives access to. Every store uses it, so that all find alike."""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache

from alma.forking import is_held_elsewhere, renewed_in_children

MOST_KEPT, LONGEST_KEPT = 4096, 32
"""The number of words whose stems are kept, and the most characters of each."""

TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"


class Stemmer:
    """An FTS5 table in memory, empty but while it is asked, and a bounded cache of the words of questions. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[str, Sequence[str]] = {}
        self._open()
        renewed_in_children(self)

    def stems(self, texts: Sequence[str]) -> list[str]:
        """The words of texts without their endings, each once, in the order of the texts."""
        known = self._known
        found = {text: known[text] for text in texts if text in known}
        missing = [text for text in texts if text not in found]
        if missing:
            found |= self._cut_each(missing)
            short = {text: found[text] for text in missing if len(text) <= LONGEST_KEPT}
            self._known = {**known, **short} if len(known) + len(short) <= MOST_KEPT else short
        return list(dict.fromkeys([stem for text in texts for stem in found[text]]))

    def counts(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Returns how often each stem stands in each of the texts."""
        counted: list[dict[str, int]] = [{} for _ in texts]
        for number, _, stem in self._cut(texts):
            counted[number][stem] = counted[number].get(stem, 0) + 1
        return counted

    def forget(self) -> None:
        """Clears the cache of words: what was purged may be among them."""
        self._known = {}

    def close(self) -> None:
        """Ends the table: it cuts no more words."""
        self._connection.close()

    def renew_in_child(self) -> None:
        """Another table, if a thread of the parent was using this one; that one is kept, for to close it would wait for that thread."""
        if is_held_elsewhere(self._lock):
            self._left_open = self._connection
            self._open()

    def _open(self) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, content='', {TOKENIZER})")
        self._connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab('one', 'instance')")

    def _cut_each(self, texts: Sequence[str]) -> dict[str, Sequence[str]]:
        """The stems of each text, in order."""
        found: dict[str, list[str]] = {text: [] for text in texts}
        for number, _, stem in sorted(self._cut(texts)):
            found[texts[number]].append(stem)
        return {**found}

    def _cut(self, texts: Sequence[str]) -> list[tuple[int, int, str]]:
        """The stems in any order, each with the number of its text and its place there."""
        with self._lock:
            if self._connection.in_transaction:  # a signal handler called ALMA in the middle of such a call of its thread
                with closing(Stemmer()) as another:
                    return another._cut(texts)
            try:
                self._connection.execute("BEGIN")
                self._connection.executemany("INSERT INTO one (rowid, text) VALUES (?, ?)", enumerate(texts))
                return self._connection.execute('SELECT doc, "offset", term FROM stems').fetchall()
            finally:
                self._connection.rollback()


@lru_cache(maxsize=1)
def stemmer() -> Stemmer:
    """The one of this process."""
    return Stemmer()
