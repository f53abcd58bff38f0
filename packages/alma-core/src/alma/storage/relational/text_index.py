"""Full text as the shared code uses it: which memory holds which stem, cached in the rows' transaction, and where a question's words stand."""

import json
import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, islice
from typing import NamedTuple, Protocol

import numpy as np
import Stemmer
from numpy.typing import NDArray

from alma.errors import CorruptStoreError
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.storage.relational.logical import View
from alma.storage.relational.session import Seal, Session
from alma.text import CommonWords, spaced_for_search, words
from alma.types.memories import Passage
from alma.types.stored import TextLengths, TextLists

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


OTHER_WEIGHT = 0.5
"""Weight of a word of another speaker; one of the owner's has 1."""

FILLED_AT_ONCE = 2_000

Integers = NDArray[np.int64]

Searched = tuple[int, Sequence[Passage]]
"""A memory, by row, and its passages."""


class WordList(NamedTuple):
    """The memories of a project that hold a word, ascending, and how often, weighted. Unless it `is_whole`, the list was read up to a limit.

    An index lists memories by row; `ProjectTexts` keeps them by place in its `TextLengths`.
    """

    memories: NDArray[np.integer]
    frequencies: NDArray[np.float32]
    is_whole: bool = True


class TextIndex(Protocol):
    """The full text of the projects of a database. Words are compared by their stems (`alma.storage.relational.text_index`)."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the full text of a project empty, whatever is left of it."""

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable that are not."""

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again. Their passages are those that they were put in with."""

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> Sequence[WordList]:
        """Returns where each stem stands, in all memories that are searchable.

        With a limit a list may end after its first memories, in which the stem stands that many times together.
        """


def own_and_other(passages: Sequence[Passage]) -> tuple[list[str], list[str]]:
    """Returns the stems of a memory: of what its owner said, and of what others did."""
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = "\n".join(
        text for passage in passages for text in ("" if passage.is_own else passage.text, passage.keywords) if text
    )
    return stems(spaced_for_search(own)), stems(spaced_for_search(others))


def frequencies(passages: Sequence[Passage]) -> dict[str, float]:
    """Returns how often each stem stands in a memory, weighted."""
    own, other = map(Counter, own_and_other(passages))
    return {stem: own[stem] + OTHER_WEIGHT * other[stem] for stem in own | other}


def fill(view: View, text: TextIndex, *, into: Session | None = None) -> None:
    """Rebuilds the full text of a project from its passages, in another session where one is given."""
    session = into or view.session
    text.begin(session, view.project)
    found = searched(view.session.all("texts_searched", {"project": view.project}), view.project, view.seal)
    while portion := list(islice(found, FILLED_AT_ONCE)):
        text.put(session, view.project, portion)


def searched(rows: Iterable[tuple[int, int, int, bytes, bytes]], project: int, seal: Seal) -> Iterator[Searched]:
    """Yields each memory with its passages, of rows given memory by memory. A text that is damaged is empty; `verify` reports it."""
    for memory, found in groupby(rows, key=lambda row: int(row[0])):
        yield (
            memory,
            [
                Passage.model_construct(
                    text=_open_text(seal, text, "text", (project, memory, position)),
                    keywords=_open_text(seal, keywords, "keywords", (project, memory, position)),
                    is_own=bool(is_own),
                )
                for _, position, is_own, text, keywords in found
            ],
        )


def _open_text(seal: Seal, stored: bytes, name: str, row: tuple[int, int, int]) -> str:
    try:
        return seal.open(stored, place=f"passage.{name}", row=row).decode(errors="replace")
    except CorruptStoreError:
        return ""


class TextRows:
    """A `TextIndex` of one row for each memory and stem, for stores without a full text of their own that holds our stems as they are."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the full text of a project empty."""
        session.run("words_clear", {"of_project": project})

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable."""
        rows = []
        for memory, passages in memories:
            own, other = map(Counter, own_and_other(passages))
            place = {"project": project, "memory": memory}
            rows += [{**place, "stem": stem, "own": own[stem], "other": other[stem]} for stem in own | other]
        session.run_many("word_insert", rows)

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again."""
        session.run_many("words_delete", [{"of_project": project, "of_memory": memory} for memory, _ in memories])

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> Sequence[WordList]:
        """Returns where each stem stands, always to the end."""
        rows = session.all("word_lists", {"project": project, "stems": json.dumps(list(stems))})
        found = {stem: [row[1:] for row in held] for stem, held in groupby(rows, key=lambda row: str(row[0]))}
        return [_word_list(found.get(stem, ())) for stem in stems]


def _word_list(held: Sequence[tuple[int, int, int]]) -> WordList:
    memories = np.array([memory for memory, _, _ in held], dtype=np.int64)
    return WordList(memories, np.array([own + OTHER_WEIGHT * other for _, own, other in held], dtype=np.float32))


FURTHER = 8
"""The factor by which more of a list is read next, where the part read so far does not show that the word is common."""

MOST_KEPT, OF_A_LIST = 2_000_000, 64
"""The entries of all lists that are kept, some 16 MB, and what a list counts beside its own."""

SCOPES_KEPT = 16

MOST_TAKEN_IN = 64
"""From this number of memories that changed since the last question on, lists are read again, which takes no longer at 10,000 memories."""

NO_TEXTS = TextLengths(0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
NO_LISTS = TextLists(NO_TEXTS.memories, NO_TEXTS.lengths, 0, 0.0, np.empty(0, np.int32), np.empty(0, np.float32), (), ())
"""Of a project without memories, and of a question without words."""


@dataclass(frozen=True, slots=True)
class TextScope:
    """Some partitions of a project: how many memories they hold, and how much text. `is_open` marks their memories, `None` where all are."""

    texts: TextLengths
    count: int
    total_length: float
    is_open: NDArray[np.bool_] | None

    def within(self, held: WordList) -> WordList:
        """Returns the part of a list that is in the scope."""
        if self.is_open is None:
            return held
        inside = self.is_open[held.memories]
        return WordList(held.memories[inside], held.frequencies[inside], held.is_whole)


class ProjectTexts:
    """Cache of one project: whose its texts are, how long, and the lists of words that questions asked for. Thread-safe."""

    def __init__(self, index: TextIndex) -> None:
        self._index = index
        self._lock = threading.RLock()
        self._start()
        renewed_in_children(self)

    def lists(self, view: View, head: int, words: Sequence[str], partitions: Sequence[int], common: CommonWords) -> TextLists:
        """Returns the lists of the words that are not common; if none of these occurs, the end of that of the first common one. `head` is the
        newest journal `seq` that the view sees."""
        asked = list(dict.fromkeys([stem for word in words for stem in stems(word)]))
        with self._lock:
            if self._texts.upto < head:
                self._catch_up(view, head)
            scope = self._scope(tuple(partitions))
            texts, most = scope.texts, common.most(scope.count)
            found = self._inside(view, asked, scope, most, keeps=texts.upto == head)
            rare = [held for held in found.values() if len(held.memories) <= most]
            held_by = [len(held.memories) for held in rare]
            if not any(held_by) and len(rare) < len(found):
                first = next(word for word, held in found.items() if len(held.memories) > most)
                (whole,) = self._inside(view, [first], scope, None, keeps=texts.upto == head).values()
                rare.append(WordList(whole.memories[-common.newest :], whole.frequencies[-common.newest :]))
                held_by.append(len(whole.memories))
        return TextLists(
            memories=texts.memories,
            lengths=texts.lengths,
            count=scope.count,
            total_length=scope.total_length,
            places=np.concatenate([np.empty(0, np.int32), *[held.memories for held in rare]]),
            frequencies=np.concatenate([np.empty(0, np.float32), *[held.frequencies for held in rare]]),
            sizes=[len(held.memories) for held in rare],
            held_by=held_by,
        )

    def lengths(self, view: View, head: int) -> TextLengths:
        """Returns whose the texts are, and how long, as of the newest journal `seq` that the view sees; nothing if none were asked for yet."""
        with self._lock:
            if 0 < self._texts.upto < head:
                self._catch_up(view, head)
            return self._texts

    def hold(self, lengths: TextLengths) -> None:
        """Takes in the lengths that another process knew, unless some are known."""
        with self._lock:
            if not self._texts.upto:
                self._start(lengths)

    def forget(self) -> None:
        """Forgets all words: what was purged may be among them."""
        stem.cache_clear()
        with self._lock:
            self._start(self._texts)

    def renew_in_child(self) -> None:
        """Keeps what is known, unless another thread was changing it."""
        if is_held_elsewhere(self._lock):
            self._start()
        self._lock = threading.RLock()

    def _start(self, texts: TextLengths = NO_TEXTS) -> None:
        self._texts, self._entries = texts, 0
        self._lists: dict[str, WordList] = {}
        self._scopes: dict[Sequence[int], TextScope] = {}

    def _catch_up(self, view: View, head: int) -> None:
        before, lists, entries = self._texts, self._lists, self._entries
        self._start()  # an interrupt may leave it half changed: it must not be used again then
        span = {"project": view.project, "after": before.upto, "upto": head, "overhead": view.seal.overhead}
        if not before.upto or next(view.session.all("removed_any", span), None) is not None:
            self._start(_sum_lengths(view.session.all("texts", {**span, "after": 0}), head))
            return
        changed = _sum_lengths(view.session.all("texts_since", span), head)
        texts = _merge_lengths(before, changed)
        are_last = not len(changed.memories) or not len(before.memories) or changed.memories[0] > before.memories[-1]
        if len(changed.memories) <= MOST_TAKEN_IN and are_last:  # known memories keep their places
            lists = _extend_lists(lists, view, texts, changed.memories)
        else:
            lists, entries = {}, 0
        self._start(texts)
        self._lists, self._entries = lists, entries + len(changed.memories)

    def _scope(self, partitions: tuple[int, ...]) -> TextScope:
        known = self._scopes.get(partitions)
        if known is None:
            texts = self._texts
            is_open = np.isin(texts.partitions, partitions)
            lengths = texts.lengths[is_open]
            mask = None if is_open.all() else is_open
            known = TextScope(texts, int(np.count_nonzero(lengths)), float(lengths.sum(dtype=np.float64)), mask)
            if len(self._scopes) >= SCOPES_KEPT:
                self._scopes = {}
            self._scopes[partitions] = known
        return known

    def _inside(
        self, view: View, asked: Sequence[str], scope: TextScope, most: int | None, *, keeps: bool
    ) -> Mapping[str, WordList]:
        """Returns the lists of words in a scope, each whole, or so far that more memories than `most` are seen to hold it.

        Lists are kept, unless the texts are newer than what the view sees, or a signal handler has brought others meanwhile.
        """
        found: dict[str, WordList] = {}
        limit = None
        if most is not None and scope.count > most:  # twice what is common if the memories of the scope are spread evenly
            limit = 2 * (most + 1) * max(len(scope.texts.memories), scope.count) // scope.count
        known = self._lists if keeps and self._texts is scope.texts else {}
        missing = list(asked)
        while True:
            inside = {word: scope.within(known[word]) for word in missing if word in known}
            found |= {
                word: held for word, held in inside.items() if held.is_whole or (most is not None and len(held.memories) > most)
            }
            missing = [word for word in missing if word not in found]
            if not missing:
                return {word: found[word] for word in asked}
            read = self._index.lists(view.session, view.project, missing, limit=limit)
            known = {word: _find_places(each, scope.texts.memories) for word, each in zip(missing, read, strict=True)}
            if keeps and self._texts is scope.texts:
                self._keep(known)
            limit = None if limit is None else FURTHER * limit

    def _keep(self, read: Mapping[str, WordList]) -> None:
        """Remembers lists. When there is no more room, all others are forgotten."""
        added = sum(len(held.memories) + OF_A_LIST for held in read.values())
        if self._entries + added > MOST_KEPT:
            self._lists, self._entries = {}, 0
        if added <= MOST_KEPT:
            self._lists |= read
            self._entries += added


def _sum_lengths(rows: Iterable[tuple[int, int, float]], upto: int) -> TextLengths:
    """Returns each memory with the sum of the parts of its length, of rows of memory, partition and part. None is kept as an object."""
    table = np.fromiter(chain.from_iterable(rows), dtype=np.float64).reshape(-1, 3)
    memories, first, inverse = np.unique(table[:, 0], return_index=True, return_inverse=True)
    lengths = np.bincount(inverse, table[:, 2], minlength=len(memories)).astype(np.float32)
    return TextLengths(upto, memories.astype(np.int64), table[first, 1].astype(np.int64), lengths)


def _merge_lengths(before: TextLengths, changed: TextLengths) -> TextLengths:
    """Returns the texts after some have changed or were added."""
    kept = ~np.isin(before.memories, changed.memories)
    parts = [
        np.concatenate([getattr(before, name)[kept], getattr(changed, name)]) for name in ("memories", "partitions", "lengths")
    ]
    order = parts[0].argsort(kind="stable")
    return TextLengths(changed.upto, *[part[order] for part in parts])


def _extend_lists(lists: Mapping[str, WordList], view: View, texts: TextLengths, memories: Integers) -> dict[str, WordList]:
    """Returns the lists with the entries of new memories, which are the last ones of the texts. A list that is not whole stays as it is."""
    rows = view.session.all("texts_searched_of", {"rows": json.dumps(memories.tolist())}) if lists and len(memories) else ()
    added: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for memory, passages in searched(rows, view.project, view.seal):
        place = int(texts.memories.searchsorted(memory))
        for word, count in frequencies(passages).items():
            if word in lists and lists[word].is_whole:
                added[word].append((place, count))
    extended = dict(lists)
    for word, entries in added.items():
        places, counts = zip(*entries, strict=True)
        held = lists[word]
        extended[word] = WordList(
            np.append(held.memories, np.array(places, np.int32)), np.append(held.frequencies, np.array(counts, np.float32))
        )
    return extended


def _find_places(found: WordList, memories: Integers) -> WordList:
    """Returns a list of full text by place. Memories that are not known, since they were written later, are left out."""
    places = memories.searchsorted(found.memories)
    is_known = np.zeros(len(places), np.bool_) if not len(memories) else memories.take(places, mode="clip") == found.memories
    return WordList(places[is_known].astype(np.int32), found.frequencies[is_known], found.is_whole)
