"""Where the words of a question stand in a scope, read from full text no further than the scope needs.

What is listed depends on the memories of the scope alone: whether a word is common is counted there, and of a list that goes on without an end in
sight only so much is read as shows that. How far that is depends on the others, and so does the time it takes, but nothing else.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from alma.forking import is_held_elsewhere, renewed_in_children
from alma.storage.relational.logical import View
from alma.storage.relational.postings import NOWHERE, Change, Crowd, Posting, Postings, postings_of
from alma.storage.relational.searched import searched
from alma.storage.relational.text_index import OTHER_WEIGHT, TextIndex, own_and_other
from alma.storage.relational.text_table import TextScope, TextTable
from alma.storage.stems import stemmer
from alma.types.found import CommonWords, TextLengths, TextLists

FURTHER = 8
"""How many times as much of a list is read next, where what was read does not show that the word is common."""

KEPT_WHOLE = 16_000
"""Of a word that is common in the scope that asks for it a longer list is not kept: too few smaller scopes need it."""

MOST_TAKEN_IN = 64
"""From this number of passages in memories that changed since the last question on, lists are read anew, which takes no longer at 10,000
memories."""

NO_LISTS = TextLists(
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.float32),
    0,
    0.0,
    np.empty(0, dtype=np.int32),
    np.empty(0, dtype=np.float32),
    (),
    (),
)
"""Of a project without memories."""


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The stems of a question, the scope in which they are asked for, and the lists that are held: all as of the journal `seq` of `upto`."""

    stems: Sequence[str]
    lists: Mapping[str, Posting | Crowd]
    scope: TextScope
    upto: int


class KnownWords:
    """Cache of one project: whose its texts are, how long, and the lists of words that questions asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._start()
        renewed_in_children(self)

    def brought_up_to_date(self, view: View, stems: Sequence[str], partitions: Sequence[int]) -> AskedWords:
        """Returns the cached lists of the stems, and the scope, as of the newest journal `seq` that the view sees."""
        head, *_ = view.ends()
        with self._lock:
            if self._texts.upto < head:
                self._catch_up(view, head)
            return AskedWords(stems, self._postings.known(stems, upto=head), self._texts.scope(tuple(partitions)), head)

    def keep(self, read: Mapping[str, Posting | Crowd], *, upto: int) -> None:
        """Remembers lists as of `upto`, if nothing newer is known."""
        with self._lock:
            self._postings.keep(read, upto=upto)

    def lengths(self, view: View | None) -> TextLengths:
        """Returns whose the texts are, and how long, as of the newest journal `seq` that the view sees; nothing if none were asked for yet."""
        head, *_ = (0, b"", 0) if view is None else view.ends()
        with self._lock:
            if view is not None and 0 < self._texts.upto < head:
                self._catch_up(view, head)
            return self._texts.lengths()

    def hold(self, lengths: TextLengths) -> None:
        """Takes what another process knew, unless something is known."""
        with self._lock:
            if not self._texts.upto:
                self._start()
                self._texts.hold(lengths)
                self._postings.clear(upto=lengths.upto)

    def forget(self) -> None:
        """Forgets all words: what was purged may be among them."""
        stemmer().forget()
        with self._lock:
            self._postings.clear(upto=self._texts.upto)

    def renew_in_child(self) -> None:
        """Keeps what is known, unless another thread was changing it."""
        if is_held_elsewhere(self._lock):
            self._start()
        self._lock = threading.RLock()

    def _start(self) -> None:
        self._texts, self._postings = TextTable(), Postings()

    def _catch_up(self, view: View, head: int) -> None:
        span = {"project": view.project, "after": self._texts.upto, "upto": head, "overhead": view.seal.overhead}
        texts, postings, before = self._texts, self._postings, len(self._texts.memories)
        self._start()  # an interrupt may leave both half changed: they must not be used again then
        is_changed = next(view.session.all("removed_any", span), None) is not None
        since = iter(()) if is_changed or not texts.upto else view.session.all("texts_since", span)
        first = list(islice(since, MOST_TAKEN_IN))
        if is_changed or not texts.upto or not texts.take(chain(first, since), upto=head):
            texts = TextTable()
            texts.take(view.session.all("texts", {**span, "after": 0}), upto=head)
            postings.clear(upto=head)
        elif len(first) == MOST_TAKEN_IN or not postings:
            postings.clear(upto=head)
        else:
            memories = sorted({memory for memory, *_ in first})
            postings.change(_change(view, texts, memories, before=before), upto=head)
        self._texts, self._postings = texts, postings


def _change(view: View, texts: TextTable, memories: Sequence[int], *, before: int) -> Change:
    """Returns what changed in memories, which ascend: all of them are in the table, which held the first `before` of its own already."""
    places = texts.memories.searchsorted(memories).astype(np.int32)
    rows = view.session.all("texts_searched_of", {"rows": json.dumps(memories)}) if memories else ()
    found = [(memory, own_and_other(passages)) for memory, _, passages in searched(rows, view.project, view.seal)]
    place_of = dict(zip(memories, places.tolist(), strict=True))
    counts = iter(stemmer().counts([text for _, both in found for text in both]))
    standing: dict[str, list[tuple[int, float]]] = {}
    for (memory, _), own, other in zip(found, counts, counts, strict=True):
        for stem in own | other:
            standing.setdefault(stem, []).append((place_of[memory], own.get(stem, 0) + OTHER_WEIGHT * other.get(stem, 0)))
    return Change(places[places < before], {stem: Posting.of(held) for stem, held in standing.items()})


class ScopedWords:
    """The words of one question, put to one scope of a project."""

    def __init__(
        self,
        view: View,
        index: TextIndex,
        words: Sequence[str],
        partitions: Sequence[int],
        common: CommonWords,
        cache: KnownWords,
    ) -> None:
        self._session, self._project, self._index = view.session, view.project, index
        self._cache, self._common = cache, common
        self._asked: AskedWords = cache.brought_up_to_date(view, stemmer().stems(words), partitions)
        self._scope = self._asked.scope
        self._most = common.most(self._scope.count)

    def lists(self) -> TextLists:
        """The lists of the words that are not common; if none of them occurs, the end of that of the first common one."""
        rare, common = self._split()
        found = self._inside(rare)
        if common and not any(found.sizes):
            newest, held_by = self._newest(common[0])
            return replace(
                found,
                places=newest.places,
                frequencies=newest.frequencies,
                sizes=[*found.sizes, len(newest.places)],
                held_by=[*found.held_by, held_by],
            )
        return found

    def _split(self) -> tuple[list[Posting], list[str]]:
        """The lists of the words that are not common in the scope, and the words that are; both in the order of the question."""
        standing = self._standing()
        rare, common = [], []
        for stem in self._asked.stems:
            held = standing[stem]
            if isinstance(held, Posting) and (len(held.places) <= self._most or held.held_by(self._scope) <= self._most):
                rare.append(held)
            else:
                common.append(stem)
        return rare, common

    def _inside(self, postings: Sequence[Posting]) -> TextLists:
        """The memories of the scope that words stand in."""
        scope = self._scope
        places = np.concatenate([NOWHERE.places, *[posting.places for posting in postings]])
        frequencies = np.concatenate([NOWHERE.frequencies, *[posting.frequencies for posting in postings]])
        sizes = [len(posting.places) for posting in postings]
        if scope.is_open is not None:
            inside = scope.is_open[scope.slots[places]]
            places, frequencies = places[inside], frequencies[inside]
            ends = np.concatenate([[0], inside.cumsum()])[np.cumsum(sizes, dtype=np.int64)].tolist()
            sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        return TextLists(scope.memories, scope.lengths, scope.count, scope.total_length, places, frequencies, sizes, sizes)

    def _standing(self) -> Mapping[str, Posting | Crowd]:
        """The list of each stem in the project, or that it is common in the scope: from the cache as far as that suffices."""
        standing = {stem: held for stem, held in self._asked.lists.items() if self._suffices(held)}
        missing = [stem for stem in self._asked.stems if stem not in standing]
        if not missing:
            return standing
        read = self._read(missing)
        self._cache.keep(read, upto=self._asked.upto)
        return {**read, **standing}

    def _suffices(self, held: Posting | Crowd) -> bool:
        return isinstance(held, Posting) or held.held_by(self._scope) > self._most

    def _read(self, stems: Sequence[str]) -> dict[str, Posting | Crowd]:
        """Lists as far as the scope needs them: to their end, or until the word is seen to be common."""
        scope, read = self._scope, dict[str, Posting | Crowd]()
        limit = self._first_limit()
        while stems:
            found = self._index.lists(self._session, self._project, stems, limit=limit)
            postings = postings_of(found, scope.memories)
            for stem, posting, is_whole in zip(stems, postings, found.are_whole, strict=True):
                is_common = posting.held_by(scope) > self._most
                if is_whole and not (is_common and len(posting.places) > KEPT_WHOLE):
                    read[stem] = posting
                elif is_common:
                    read[stem] = Crowd.of(posting, scope)
            stems = [stem for stem in stems if stem not in read]
            limit = None if limit is None else FURTHER * limit
        return read

    def _first_limit(self) -> int | None:
        """Returns how much of a list to read first: twice what is common if a scope's memories are spread evenly; `None` if no word can be."""
        count = self._scope.count
        if count <= self._most:
            return None
        return 2 * (self._most + 1) * max(len(self._scope.memories), count) // count

    def _newest(self, stem: str) -> tuple[Posting, int]:
        """Returns where a common word stands in the newest memories that hold it, and how many do."""
        held = self._asked.lists.get(stem)
        if not isinstance(held, Posting):
            found = self._index.lists(self._session, self._project, [stem], limit=None)
            (held,) = postings_of(found, self._scope.memories)
            self._cache.keep({stem: held}, upto=self._asked.upto)
        inside, newest = held.within(self._scope), self._common.newest
        return Posting(inside.places[-newest:], inside.frequencies[-newest:]), len(inside.places)
