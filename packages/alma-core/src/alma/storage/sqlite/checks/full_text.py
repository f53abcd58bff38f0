"""The full text of a project against its passages, word by word."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache

import numpy as np

from alma.storage.relational.checks.expected import Report
from alma.storage.relational.logical import View
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.checks.documents import Documents, Integers, documents, made_anew
from alma.storage.sqlite.session import connection_of

_LIVE = "SELECT row, id FROM memory WHERE project = ? AND archived_at IS NULL"
_MODEL = 1

_Fault = tuple[str, str]


def check_full_text(view: View, report: Report) -> None:
    """Checks that the full text holds the words of all memories that are not archived, and nothing else."""
    live: dict[int, str] = dict(connection_of(view.session).execute(_LIVE, (view.project,)))
    index = documents(connection_of(view.session), view.project)
    held = set((index.numbers >> 1).tolist())
    for place, what in (*_memberships(live, held), *_figures(view, index)):
        report(place, what)
    for memory in _reworded(view, index, np.array(sorted(live.keys() & held), dtype=np.int64)):
        report(f"memory {live[memory]}", "has other words in the full text than in its passages")


def _memberships(live: Mapping[int, str], held: set[int]) -> Iterator[_Fault]:
    for row in live.keys() - held:
        yield f"memory {live[row]}", "is missing from the full text"
    for row in held - live.keys():
        yield "full text", f"has an entry, {row}, of no memory"


def _figures(view: View, index: Documents) -> Iterator[_Fault]:
    """Reports an index that disagrees with itself, or is not set up as ALMA sets it up."""
    try:
        fulltext.check(connection_of(view.session), view.project)
    except sqlite3.DatabaseError as error:
        yield "full text", f"is not sound, as FTS5 says: {error}"
    words, expected = int(index.counts.sum()) + index.strays, int(index.sizes.sum())
    if words != expected:
        yield "full text", f"holds {words} words, but its documents have {expected}"
    elif index.strays or (index.counts != index.sizes).any():
        yield "full text", "lists words in other documents than those that they are in"
    noted = fulltext.totals(connection_of(view.session), view.project)
    if noted != [len(index.numbers), expected] and (noted or expected):
        yield "full text", f"notes {noted} as the numbers of documents and words, not {[len(index.numbers), expected]}"
    pages, beginnings = fulltext.segments(connection_of(view.session), view.project)
    if pages != beginnings:
        yield "full text", f"has pages of the segments {sorted(pages)}, but lists {sorted(beginnings)}"
    if fulltext.settings(connection_of(view.session), view.project) != _usual_settings():
        yield "full text", "has settings that ALMA did not make"


@cache
def _usual_settings() -> list[tuple[object, object]]:
    with closing(sqlite3.connect(":memory:")) as model:
        fulltext.create(model, _MODEL)
        return fulltext.settings(model, _MODEL)


def _reworded(view: View, index: Documents, memories: Integers) -> Iterator[int]:
    """Those of the searchable memories whose documents are not those of their passages."""
    for chunk, anew in made_anew(view, memories):
        first, last = np.searchsorted(index.numbers, [2 * chunk[0], 2 * chunk[-1] + 2])
        numbers, sums = index.numbers[first:last], index.sums[first:last]
        stored = dict(zip(numbers.tolist(), sums.tolist(), strict=True))
        made = dict(zip(anew.numbers.tolist(), anew.sums.tolist(), strict=True))
        differing = {number >> 1 for number, _ in stored.items() ^ made.items()}
        yield from sorted(differing & set(chunk.tolist()))
