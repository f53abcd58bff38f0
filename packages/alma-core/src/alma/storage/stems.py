"""What full text makes of a text: its words without endings. By FTS5's own tokenizer, which nothing but an FTS5 table gives access to."""

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from alma.forking import renewed_in_children

TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"

REMEMBERED = 8192


class Stemmer:
    """An FTS5 table in memory, empty but while it is asked. The words of questions are remembered. Thread-safe."""

    def __init__(self) -> None:
        self.remembered: dict[str, Iterable[str]] = {}
        self._open()
        renewed_in_children(self)

    def stems(self, words: Sequence[str], texts: Sequence[str] = ()) -> tuple[Sequence[str], Sequence[Mapping[str, int]]]:
        """The stems of the words of a question, each once, in order; and those of each text, with how often each stands there."""
        with self._lock:
            missing = [word for word in dict.fromkeys(words) if word not in self.remembered]
            if len(self.remembered) + len(missing) > REMEMBERED:
                self.remembered, missing = {}, list(dict.fromkeys(words))
            counted = self._counted([*texts, *missing])
            self.remembered.update(zip(missing, counted[len(texts) :], strict=True))
            return list(dict.fromkeys(stem for word in words for stem in self.remembered[word])), counted[: len(texts)]

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

    def _counted(self, texts: Sequence[str]) -> Sequence[dict[str, int]]:
        counts: list[dict[str, int]] = [{} for _ in texts]
        for text, stem in self._cut(texts) if texts else ():
            counts[text][stem] = counts[text].get(stem, 0) + 1
        return counts

    def _cut(self, texts: Sequence[str]) -> list[tuple[int, str]]:
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
