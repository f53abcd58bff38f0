"""Groups of stated memories that say the same, and near pairs that are kept apart. Values in, values out."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from alma_knowledge.consolidation.sameness import Verdict
from alma_knowledge.consolidation.stated import Stated, compare_stated
from alma_learning.forks import multiply
from alma_learning.linkage import NEVER, link_groups

BLOCK = 512
"""Vectors that are compared with all others at once: of 10,000 others 20 MB."""

MOST_NEAR = 1_000
"""Near pairs that are reported, the nearest. Pairs of the same telling words are compared however many there are."""

UNDONE = "a person took them apart"

Pair = tuple[int, int]
Vectors = NDArray[np.float32]
Undone = Collection[frozenset[str]]
"""Pairs of ids that a person took apart."""
Judge = Callable[[Sequence[tuple[Stated, Stated]]], Sequence[bool]]
"""Returns which of some unsure pairs say the same."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Memories in the very same words, the oldest first."""

    stated: Sequence[Stated]

    @property
    def first(self) -> Stated:
        """The oldest."""
        return self.stated[0]


@dataclass(frozen=True, slots=True)
class Groups:
    """Wordings that say the same, with two memories a group at least, and near pairs of places that do not, the nearest first, with the reason."""

    merged: Sequence[Sequence[Wording]]
    apart: Sequence[tuple[Pair, str]]


def find_alike(items: Iterable[Stated]) -> list[list[Stated]]:
    """Returns the memories that may say the same by their words, in lists of two at least."""
    buckets = defaultdict[object, list[Stated]](list)
    for item in items:
        buckets[item.key].append(item)
    return [alike for alike in buckets.values() if len(alike) > 1]


def fold_copies(items: Iterable[Stated], undone: Undone) -> list[Wording]:
    """Returns the wordings of memories. One of a pair that was taken apart stands for itself."""
    parted = {memory_id for pair in undone for memory_id in pair}
    wordings = defaultdict[object, list[Stated]](list)
    for item in items:
        of_its_own = item.memory.id if item.memory.id in parted else None
        wordings[item.texts, item.labels, of_its_own].append(item)
    return [Wording(each) for each in wordings.values()]


def group_wordings(
    wordings: Sequence[Wording], vectors: Vectors, threshold: float, undone: Undone, judge: Judge | None = None
) -> Groups:
    """Groups wordings of one owner and kind by complete linkage: every two of a group say the same, and their cosine is at least `threshold`.

    `vectors` are unit vectors, (n, d). Unsure pairs are asked of `judge`.
    """
    near = dict(find_near(vectors, threshold))
    place_of = {id(each.first): place for place, each in enumerate(wordings)}
    alike = ([place_of[id(item)] for item in items] for items in find_alike(each.first for each in wordings))
    same, apart = dict[Pair, float](), dict[Pair, str]()
    for pair in dict.fromkeys([*near, *(pair for places in alike for pair in combinations(places, 2))]):
        one, other = (wordings[place].first for place in pair)
        cosine = near.get(pair, float(vectors[pair[0]] @ vectors[pair[1]]))
        if cosine < threshold:
            continue
        is_undone = frozenset((one.memory.id, other.memory.id)) in undone
        reason = UNDONE if is_undone else compare_stated(one, other).value
        if reason == Verdict.SAME.value:
            same[pair] = cosine
        else:
            apart[pair] = reason
    if judge is not None:
        asked = [pair for pair, reason in apart.items() if reason == Verdict.UNSURE.value]
        answers = judge([(wordings[one].first, wordings[other].first) for one, other in asked]) if asked else ()
        agreed = [pair for pair, is_same in zip(asked, answers, strict=True) if is_same]
        same |= {pair: near.get(pair, threshold) for pair in agreed}
        apart = {pair: reason for pair, reason in apart.items() if pair not in same}
    linked = [[wordings[place] for place in group] for group in _link(same)]
    grouped = {id(wording) for group in linked for wording in group}
    copied = [[wording] for wording in wordings if id(wording) not in grouped and len(wording.stated) > 1]
    return Groups([*linked, *copied], sorted(apart.items(), key=lambda each: -near.get(each[0], threshold))[:MOST_NEAR])


def find_near(vectors: Vectors, threshold: float) -> Iterator[tuple[Pair, float]]:
    """Yields the nearest pairs of at least that cosine, `MOST_NEAR` at most, the nearest first."""
    rows, columns, cosines = np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float32)
    for start in range(0, len(vectors), BLOCK):
        found = multiply(vectors[start : start + BLOCK], vectors[start:].T)
        least = threshold if len(cosines) < MOST_NEAR else max(threshold, float(cosines[-1]))
        a, b = np.nonzero(found >= least)
        a, b = a[b > a], b[b > a]
        rows, columns = np.concatenate([rows, a + start]), np.concatenate([columns, b + start])
        cosines = np.concatenate([cosines, found[a, b]])
        best = np.argsort(-cosines, kind="stable")[:MOST_NEAR]
        rows, columns, cosines = rows[best], columns[best], cosines[best]
    yield from zip(zip(rows.tolist(), columns.tolist(), strict=True), cosines.tolist(), strict=True)


def _link(same: Mapping[Pair, float]) -> Iterator[list[int]]:
    """Yields the groups by complete linkage of the pairs."""
    for pairs in _connect(same):
        members = sorted({place for pair in pairs for place in pair})
        at = {place: number for number, place in enumerate(members)}
        likeness = np.full((len(members), len(members)), NEVER)
        for one, other in pairs:
            likeness[at[one], at[other]] = likeness[at[other], at[one]] = same[one, other]
        yield from ([members[number] for number in group] for group in link_groups(likeness, -1.0) if len(group) > 1)


def _connect(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Returns the pairs in lists that share no place."""
    lists: dict[int, list[Pair]] = {}
    for pair in pairs:
        one, other = (lists.setdefault(place, []) for place in pair)
        joined = one if one is other else [*one, *other]
        joined.append(pair)
        lists |= {place: joined for each in joined for place in each}
    return list({id(found): found for found in lists.values()}.values())
