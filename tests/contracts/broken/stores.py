"""Stores that break one promise each, under the contract that has to notice."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from alma.journal import Change
from alma.protocols import CommonWords, Erased, Place, TextLists
from alma.storage.relational.project import SQLProject
from alma.storage.relational.reembedding import NextVectors
from alma.storage.relational.writing import Write
from alma.storage.sqlite.connections import connection_of
from alma.storage.sqlite.store import SQLStorage
from alma.testing import FileStoreContract, MockEmbedder, ReembeddableContract, StoreContract
from alma.types.identity import Fingerprint
from alma_testing.clocks import START


class _Project(SQLProject):
    writing: ClassVar[type[Write] | None] = None
    """The class that stands for `Write`."""

    def __init__(self, store: SQLStorage, name: str) -> None:
        super().__init__(store, name)
        self.store = store

    @contextmanager
    def write(self, **given: Any) -> Iterator[Write]:
        with super().write(**given) as write:
            if self.writing is not None:
                write.__class__ = self.writing
            yield write

    def another(self, name: str) -> SQLProject:
        """Another project of the store."""
        return SQLProject(self.store, name)

    def all_projects(self) -> list[SQLProject]:
        """All projects of the store."""
        with self._database.reading() as connection:
            return [self.another(name) for (name,) in connection.execute("SELECT name FROM project")]

    def tidied(self, *statements: str) -> None:
        """Runs statements beside the transaction, as a store that is not careful does."""
        with self._database.transaction() as connection:
            for statement in statements:
                connection.execute(statement)


class _Broken(SQLStorage):
    made: ClassVar[type[_Project]] = _Project

    def project(self, name: str) -> Any:
        return self.made(self, name)


class _LeavesHalf(_Project):
    @contextmanager
    def write(self, **given: Any) -> Iterator[Write]:
        failure = None
        with super().write(**given) as write:
            try:
                yield write
            except Exception as error:  # noqa: BLE001 - that is what is broken
                failure = error
        if failure is not None:
            raise failure


class LeavesHalfAWrite(_Broken):
    made = _LeavesHalf


class _LosesJournal(_Project):
    @contextmanager
    def write(self, **given: Any) -> Iterator[Write]:
        with super().write(**given) as write:
            yield write
            write.changes = [change for change in write.changes if change.table != "usage"]


class LosesTheJournalOfUsage(_Broken):
    made = _LosesJournal


class _Leaks(_Project):
    def vectors(self, texts: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for other in self.all_projects():
            found.update(other.vectors(texts))
        return found


class LeaksVectorsOfAnotherProject(_Broken):
    made = _Leaks


class _FindsOthers(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        mine = super().text_lists(words, **given)
        other = self.another("lab")
        return mine if len(mine.places) else other.text_lists(words, **{**given, "partitions": list(other.partitions())})


class FindsTheWordsOfAnotherProject(_Broken):
    made = _FindsOthers


class _CountsMatches(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        found = super().text_lists(words, **given)
        return replace(found, held_by=[1 for _ in found.held_by])


class TakesAllWordsForEquallyRare(_Broken):
    made = _CountsMatches


class _BestFirst(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        found = super().text_lists(words, **given)
        places = len(found.memories) - 1 - found.places
        return replace(found, memories=found.memories[::-1], lengths=found.lengths[::-1], places=places)


class ListsMatchesInAnotherOrder(_Broken):
    made = _BestFirst


class _WithoutKeywords(Write):
    __slots__ = ()

    def add(self, memory: Any, passages: Any, vectors: Any) -> None:
        cut = [passage.model_copy(update={"keywords": ""}) for passage in passages]
        Write.add(self, memory, cut, vectors)


class _ForgetsKeywords(_Project):
    writing = _WithoutKeywords


class ForgetsKeywords(_Broken):
    made = _ForgetsKeywords


class _AllWords(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        found = super().text_lists(words, **given)
        if min(found.sizes, default=0):
            return found
        return replace(found, places=found.places[:0], frequencies=found.frequencies[:0], sizes=[0 for _ in found.sizes])


class WantsAllWordsAtOnce(_Broken):
    made = _AllWords


class _IgnoresPartitions(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        return super().text_lists(words, **{**given, "partitions": list(self.partitions())})


class SearchesAllPartitions(_Broken):
    made = _IgnoresPartitions


class _CountsEverybody(_Project):
    """Lists what the reader sees, and counts how rare a word is by all that there is."""

    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        everything = super().text_lists(words, **{**given, "partitions": list(self.partitions())})
        mine = super().text_lists(words, **given)
        return replace(mine, count=everything.count, total_length=everything.total_length)


class CountsWhatTheReaderDoesNotSee(_Broken):
    made = _CountsEverybody


class _NeverCommon(_Project):
    def text_lists(self, words: Sequence[str], **given: Any) -> TextLists:
        return super().text_lists(words, **{**given, "common": CommonWords(number=10**9, share=1.0, newest=0)})


class SearchesByEveryWord(_Broken):
    made = _NeverCommon


class _CountsLate(_Project):
    """Reads the partitions before what is in them; here another owner always comes in between."""

    def counts(self) -> Any:
        known = self.partitions()
        for _ in range(20_000):
            if not 0 < len(known) == len(super().partitions()) < 32:
                break
        return [known[each.partition.row] and each for each in super().counts()]


class CountsWithPartitionsReadBefore(_Broken):
    made = _CountsLate


class _ReusesRows(_Project):
    def purge(self, *given: Any, **named: Any) -> Erased | None:
        erased = super().purge(*given, **named)
        self.tidied("DELETE FROM sqlite_sequence")
        return erased


class ReusesRowNumbers(_Broken):
    made = _ReusesRows


class _KeepsPartitions(_Project):
    def partitions(self) -> Any:
        return self._known.by_row or super().partitions()


class OverlooksPartitionsOfOthers(_Broken):
    made = _KeepsPartitions


class _StaleHead(_Project):
    seen = 0

    def head(self) -> int:
        self.seen = self.seen or super().head()
        return self.seen


class RemembersItsHead(_Broken):
    made = _StaleHead


class _FindsArchived(_Project):
    def candidates(self, memories: Sequence[int]) -> Any:
        self.tidied("UPDATE memory SET archived_at = NULL")
        return super().candidates(memories)


class RanksArchivedMemories(_Broken):
    made = _FindsArchived


class _Careless(Write):
    __slots__ = ()

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        query = "SELECT version FROM record WHERE project = ? AND kind = ? AND key = ?"
        found = connection_of(self.session).execute(query, (self.row, kind, key)).fetchone()
        Write.put_record(self, kind, key, body, version=found[0] if found else 0, at=at)


class _OverwritesRecords(_Project):
    writing = _Careless


class OverwritesSmallRecords(_Broken):
    made = _OverwritesRecords


class _Late(Write):
    __slots__ = ()

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        Write.put_record(self, kind, key, body, version=version)


class _DatesRecordsByTheirWrite(_Project):
    writing = _Late


class DatesSmallRecordsByTheirWrite(_Broken):
    made = _DatesRecordsByTheirWrite


class _FindsByRow(_Project):
    def find(self, memory_ids: Iterable[str]) -> dict[str, Place]:
        return dict(sorted(super().find(memory_ids).items(), key=lambda item: item[1].memory))


class FindsInTheOrderOfRows(_Broken):
    made = _FindsByRow


class _LooksUpBesideItsWrites(_Project):
    @contextmanager
    def write(self, **given: Any) -> Iterator[Write]:
        _Beside.project_read = self
        with super().write(**given) as write:
            write.__class__ = _Beside
            yield write


class _Beside(Write):
    __slots__ = ()
    project_read: ClassVar[SQLProject]

    @property
    def stored(self) -> Any:
        return self.project_read


class LooksUpBesideItsWrites(_Broken):
    made = _LooksUpBesideItsWrites


class _OneByOne(Write):
    __slots__ = ()

    def count_usage(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        for memory_id, added in counts.items():
            Write.count_usage(self, {memory_id: added})


class _CountsWhatItCan(_Project):
    writing = _OneByOne


class CountsUntilOneIsUnknown(_Broken):
    made = _CountsWhatItCan


class _ForgetsTombstones(_Project):
    def changes(self, *, after: int) -> Any:
        for each in super().changes(after=after):
            yield replace(each, removed=each.removed[:0])


class ForgetsTombstones(_Broken):
    made = _ForgetsTombstones


class _ReadsLate(_Project):
    def entries(self, **given: Any) -> Any:
        seen = 0
        while found := next(iter(super().entries(**{**given, "after": max(seen, given.get("after", 0))})), None):
            yield found
            seen = found.seq


class ReadsTheJournalPieceByPiece(_Broken):
    made = _ReadsLate


class _ManyMoments(_Project):
    def moment(self) -> Any:
        return nullcontext()


class ReadsInManyMoments(_Broken):
    made = _ManyMoments


class _NoTies(_Project):
    def changes(self, *, after: int) -> Any:
        for each in super().changes(after=after):
            yield replace(each, ties=each.passages)


class TakesRowsForTies(_Broken):
    made = _NoTies


class _PurgesRows(_Project):
    def purge(self, memory_ids: Sequence[str], *, records: Sequence[str], actor: str, at: int) -> Erased | None:
        found = self.find(memory_ids)
        if not found:
            return super().purge(memory_ids, records=records, actor=actor, at=at)
        rows = [stored for stored in self.rows() if any(memory_id in stored.key for memory_id in memory_ids)]
        with self.write(actor=actor, operation="purge", at=at) as write:
            write.apply([Change(stored.table, stored.key, stored.row, None) for stored in rows])
            seq = write.seq
        return Erased(seq, list(found), {}, [])


class PurgesNoJournal(_Broken):
    made = _PurgesRows


class _ReadsAnew:
    """A snapshot whose every part is of the moment at which that part is asked for."""

    def __init__(self, project: "_SnapsPieceByPiece", owner: str | None) -> None:
        self.project = project
        self.owner = owner

    def __getattr__(self, part: str) -> Any:
        def read(**given: Any) -> Any:
            with SQLProject.snapshot(self.project, owner=self.owner) as stored:
                found = getattr(stored, part)(**given)
                return iter(list(found)) if isinstance(found, Iterator) else found

        return read


class _SnapsPieceByPiece(_Project):
    @contextmanager
    def snapshot(self, *, owner: str | None = None) -> Any:
        yield _ReadsAnew(self, owner)


class SnapsPieceByPiece(_Broken):
    made = _SnapsPieceByPiece


class _SnapsEverybody(_Project):
    @contextmanager
    def snapshot(self, *, owner: str | None = None) -> Any:
        with super().snapshot() as stored:
            yield stored


class ExportsOtherAgentsToo(_Broken):
    made = _SnapsEverybody


class _LandsOneByOne(_Project):
    @contextmanager
    def writes(self, **given: Any) -> Any:
        @contextmanager
        def alone() -> Any:
            with SQLProject.writes(self, **given) as begin, begin() as write:
                yield write

        yield alone


class LandsWritesOneByOne(_Broken):
    made = _LandsOneByOne


class _OneRecord(_Project):
    @contextmanager
    def writes(self, **given: Any) -> Any:
        with super().writes(**given) as begin, begin() as write:
            yield lambda: nullcontext(write)


class WritesOneRecordForAll(_Broken):
    made = _OneRecord


class _ListsOthers(_Project):
    def listed(self, partitions: Sequence[int], *, limit: int, **given: Any) -> list[int]:
        return [row for other in self.all_projects() for row in other.listed(partitions, limit=limit, **given)][:limit]


class ListsMemoriesOfAnotherProject(_Broken):
    made = _ListsOthers


class _ListsByRow(_Project):
    def listed(self, partitions: Sequence[int], *, newest_first: bool, **given: Any) -> list[int]:
        return sorted(super().listed(partitions, newest_first=newest_first, **given), reverse=newest_first)


class ListsByRowNumber(_Broken):
    made = _ListsByRow


class AnswersWhenClosed(_Broken):
    def close(self) -> None:
        """Leaves it to the garbage collector."""


class NewIdEachTime(_Broken):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.id = str(uuid.uuid4())


class CompactsNothing(_Broken):
    def compact(self) -> bool:
        return True


def _opening(broken: type[_Broken]) -> Any:
    def open_store(self: object) -> Any:
        def open_it(folder: Path) -> SQLStorage:
            SQLStorage.create(folder / "alma.db", MockEmbedder(16).fingerprint, at=START)
            return broken(folder / "alma.db", at=START)

        return open_it

    return pytest.fixture(open_store)


for _broken in _Broken.__subclasses__():
    globals()[f"Test{_broken.__name__}"] = type(
        f"Test{_broken.__name__}", (StoreContract, FileStoreContract), {"open_store": _opening(_broken)}
    )


class SwitchesTooEarly(_Broken):
    def next_vectors(self, fingerprint: Fingerprint) -> Any:
        class Hasty(NextVectors):
            __slots__ = ()

            def switch(self) -> bool:
                for passage in self.missing(after=0, limit=1000):
                    self.put({passage: bytes(2 * self.fingerprint.dimension)})
                self.put_compared(dict.fromkeys(self.compared(), bytes(2 * self.fingerprint.dimension)))
                return NextVectors.switch(self)

        begun = super().next_vectors(fingerprint)
        return Hasty(begun.database, begun.seal, begun.number, begun.fingerprint)


class ForgetsArchived(_Broken):
    """Passes over texts that may come back."""

    def next_vectors(self, fingerprint: Fingerprint) -> Any:
        class Forgetful(NextVectors):
            __slots__ = ()

            def missing(self, *, after: int, limit: int) -> Any:
                found = NextVectors.missing(self, after=after, limit=1000)
                with self.database.reading() as connection:
                    live = {row for (row,) in connection.execute("SELECT row FROM passage WHERE is_live")}
                return [passage for passage in found if passage.row in live][:limit]

        begun = super().next_vectors(fingerprint)
        return Forgetful(begun.database, begun.seal, begun.number, begun.fingerprint)


class TestSwitchesTooEarly(ReembeddableContract):
    open_store = _opening(SwitchesTooEarly)


class TestForgetsArchived(ReembeddableContract):
    open_store = _opening(ForgetsArchived)
