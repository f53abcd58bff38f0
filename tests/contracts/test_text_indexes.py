"""Full text in FTS5 and in a plain table hold the same lists."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection as Connected
from sqlalchemy import create_engine

from alchemy_store import AlchemySession
from alma.storage.relational.session import OpenSeal, Session
from alma.storage.relational.tables import text_metadata
from alma.storage.relational.text_index import Searched, TextIndex, TextRows
from alma.storage.relational.text_index import stems as stems_of
from alma.storage.sqlite.connections import Connection
from alma.storage.sqlite.fulltext import FTS5Index
from alma.types.memories import Passage
from alma_encryption.cipher import AESSeal

WORDS = ["Deploys", "deploy", "naïve", "v2.1", "it's", "ΣΊΣΥΦΟΣ", "日本", "of", '"', "x" * 80]

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
passages = st.lists(
    st.builds(Passage, text=texts.filter(str.strip), keywords=texts, is_own=st.booleans()), min_size=1, max_size=3
)
memories = st.dictionaries(st.integers(1, 2**31 - 1), passages, max_size=6)

Lists = dict[str, list[tuple[int, float]]]


@pytest.fixture(scope="module")
def connected() -> Iterator[Connected]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        text_metadata.create_all(connection)
        yield connection
    engine.dispose()


def held(index: TextIndex, session: Session, put: Sequence[Searched], removed: Sequence[Searched], stems: Sequence[str]) -> Lists:
    """The lists of an index in which the memories of project 7 were put, and of which some were removed."""
    for project in (7, 8):
        index.begin(session, project)
        index.put(session, project, put)
    index.remove(session, 7, removed)
    found = index.lists(session, 7, stems, limit=None)
    assert all(each.is_whole for each in found)
    return {
        stem: list(zip(each.memories.tolist(), each.frequencies.tolist(), strict=True))
        for stem, each in zip(stems, found, strict=True)
    }


def test_both_hold_the_same_lists_whatever_was_put_and_removed(connected: Connected) -> None:
    @settings(max_examples=60, deadline=None)
    @given(found=memories, count=st.integers(0, 6))
    def holds(found: dict[int, list[Passage]], count: int) -> None:
        put = list(found.items())
        stems = [*dict.fromkeys(stems_of(" ".join(WORDS))), "nowhere"]
        with (
            closing(sqlite3.connect(":memory:", factory=Connection)) as connection,
            closing(sqlite3.connect(":memory:", factory=Connection)) as another,
            connected.begin_nested() as undone,
        ):
            fts5 = held(FTS5Index(OpenSeal()), connection, put, put[:count], stems)
            hidden = held(FTS5Index(AESSeal(b"k" * 32, "store")), another, put, put[:count], stems)
            rows = held(TextRows(), AlchemySession(connected), put, put[:count], stems)
            undone.rollback()
        assert fts5 == hidden == rows
        assert all(memory in dict(put[count:]) for entries in fts5.values() for memory, _ in entries)

    holds()


def test_a_limit_ends_a_long_list_after_its_first_memories() -> None:
    put = [(number, [Passage(text="deploy deploy")]) for number in range(1, 50)]
    with closing(sqlite3.connect(":memory:", factory=Connection)) as connection:
        index = FTS5Index(OpenSeal())
        index.begin(connection, 1)
        index.put(connection, 1, put)
        deploys, none = index.lists(connection, 1, ["deploi", "nowhere"], limit=20)
    assert (deploys.memories.tolist(), deploys.is_whole) == (list(range(1, 11)), False)
    assert (none.memories.tolist(), none.is_whole) == ([], True)


def test_what_is_filled_anew_is_empty_before(connected: Connected) -> None:
    with closing(sqlite3.connect(":memory:", factory=Connection)) as connection, connected.begin_nested() as undone:
        for index, session in ((FTS5Index(OpenSeal()), connection), (TextRows(), AlchemySession(connected))):
            index.begin(session, 7)
            index.put(session, 7, [(1, [Passage(text="deploy")])])
            index.begin(session, 7)
            (found,) = index.lists(session, 7, ["deploi"], limit=None)
            assert not len(found.memories)
        undone.rollback()
