"""The small contracts between the rooms. Every implementation passes the contract tests in `alma.testing`.

Row numbers (`memory`, `passage`, `partition`) are handles of one database: opaque, never shown to users, never used to break a tie.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from alma.evidence import Tally
from alma.types.changes import Change
from alma.types.embedding import Fingerprint
from alma.types.evidence import Evidence as Evidence
from alma.types.evidence import StoredEvidence as StoredEvidence
from alma.types.exported import ExportedCounts, ExportedEvidence, ExportedMemory, ExportedRecord
from alma.types.found import Candidate as Candidate
from alma.types.found import CommonWords as CommonWords
from alma.types.found import PassageScores as PassageScores
from alma.types.found import TextLists as TextLists
from alma.types.found import TextScores as TextScores
from alma.types.found import VectorChanges as VectorChanges
from alma.types.memories import AnyMemory, Memory
from alma.types.partition import Partition
from alma.types.passages import Passage
from alma.types.prompt import TokenCounter as TokenCounter  # one method, so a callable; its home is beside its only user
from alma.types.reports import VerifyReport
from alma.types.stored import Copied as Copied
from alma.types.stored import DayCount as DayCount
from alma.types.stored import Entry as Entry
from alma.types.stored import Erased as Erased
from alma.types.stored import JournalEntry as JournalEntry
from alma.types.stored import Moved as Moved
from alma.types.stored import PartitionCount as PartitionCount
from alma.types.stored import PartitionDay as PartitionDay
from alma.types.stored import Place as Place
from alma.types.stored import Sizes as Sizes
from alma.types.stored import StoredRow as StoredRow
from alma.types.stored import StoreRequest as StoreRequest
from alma.types.stored import Unembedded as Unembedded
from alma.types.stored import UsageTotals as UsageTotals
from alma.types.stored import VectorsRequest as VectorsRequest

if TYPE_CHECKING:
    from alma.types.found import Integers as Integers
    from alma.types.found import Matrix as Matrix
    from alma.types.found import Vector as Vector

Clock = Callable[[], datetime]
"""Gives the present, aware, in UTC."""


class Embedder(Protocol):
    """Turns texts into vectors. Thread-safe."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Which model this is, and how it prepares texts."""

    def embed(self, texts: Sequence[str], /) -> "Matrix":
        """One L2-normalised, finite row a text, in order, shape (len(texts), dimension). `EmbeddingError` if that cannot be."""


class LLM(Protocol):
    """A language model; only ever an optional extra."""

    def complete(self, prompt: str, /) -> str:
        """The model's answer."""


class Learned(Protocol):
    """The evidence of one project."""

    def upto(self) -> int:
        """The newest record that changed any evidence, 0 if there is none."""

    def newest(self, owners: Iterable[str], *, most: int) -> Mapping[str, Sequence[StoredEvidence]]:
        """For each owner its newest evidence, newest first, at most `most` that is stored and `most` that single outcomes are.

        A name that ends with the separator of owners (`alma.types.partition`) stands for all users of the agent before it: their stored evidence.
        """

    def of_tasks(self, class_ids: Iterable[str]) -> Sequence[StoredEvidence]:
        """All evidence whose ids begin with one of these (see `class_id`); where none is stored, that of the only outcome, if there is one."""

    def first_outcomes(self, evidence_ids: Iterable[str]) -> Mapping[str, tuple[int, float | None]]:
        """The row of the first outcome that each evidence counts, and how much of a success it was, `None` if that was not judged."""

    def total(self, agent: str) -> Tally:
        """All that an agent tried and that was judged, single steps left out."""

    def uncounted(self, evidence_ids: Iterable[str]) -> str | None:
        """One of the ids that outcomes rest on of whom evidence takes no notice, though it should; `None` if all is as learning leaves it."""

    def behind(self, memories: Sequence[int]) -> Mapping[int, StoredEvidence]:
        """The evidence that outcomes belong to or rules rest on, by their rows."""

    def with_rules(self, agent: str) -> Sequence[StoredEvidence]:
        """All evidence of an agent that a rule rests on, or once did."""

    def outcomes(self, evidence_id: str, *, newest: int) -> Sequence[int]:
        """The rows of the outcomes that an evidence was made of, newest first, archived ones too."""


class Lookups(Protocol):
    """Looks things up by their keys, any number of them at once."""

    def partitions(self) -> Mapping[int, Partition]:
        """All partitions by row, those that other processes made too; in a write, those that were there when it began."""

    def find(self, memory_ids: Iterable[str]) -> Mapping[str, Place]:
        """Where memories are kept, by id, in the order of the ids. Ids that this project does not have are left out."""

    def memories(self, rows: Sequence[int]) -> Mapping[int, AnyMemory]:
        """The memories themselves, by row. Unknown rows are left out."""

    def vectors(self, texts: Iterable[str]) -> Mapping[str, bytes]:
        """The stored float16 vectors of those of the texts that have one."""

    def record(self, kind: str, keys: Iterable[str]) -> Mapping[str, tuple[int, dict[str, Any]]]:
        """Version and body of each of the small records, by key, in the order of the keys; version 0 and an empty body where there is none."""


class Write(Protocol):
    """One call's changes to a project. They land together with the journal record that lists them, or not at all."""

    @property
    def seq(self) -> int:
        """The number that the journal record will have."""

    def add(
        self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, evidence: str | None = None
    ) -> None:
        """Stores a memory with its passages; those whose text is in `vectors` get that float16 vector. `ConflictError` if the id is taken."""

    def count_usage(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        """Adds to used, ignored, thumbs_up, thumbs_down, credited_successes or credited_trials of memories, by id, or takes from them, never below 0.

        `MemoryNotFoundError`, with nothing counted, if there is none of an id.
        """

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        """Stores a small record whose newest version is `version` (0 for none). `ConflictError` if it is another by now.

        `at` is when it came to be, in microseconds since 1970, if not with this write.
        """

    def drop_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int) -> None:
        """Deletes a small record whose newest version is `version` and says `body`. `ConflictError` if it is another by now, or gone."""

    def apply(self, changes: Iterable[Change], vectors: Mapping[str, bytes] | None = None) -> None:
        """Makes changes to logical rows, each at most once, with all that hangs on them: full text, vectors, what indexes have to take in.

        A text that is embedded and new needs its float16 vector in `vectors`, and a strategy that is tried again should have it there.
        `ConflictError` if a row is not what its change expects.
        """

    @property
    def stored(self) -> Lookups:
        """What there is, as this write sees it. It reads through the write's own session, as all of a write does."""

    @property
    def learned(self) -> Learned:
        """The evidence as this write sees it."""

    @property
    def learned_seq(self) -> int:
        """The newest record that changed evidence; this write's own once it did and has ended."""

    def entries(self, *, after: int) -> Iterator[Entry]:
        """The journal records after a `seq`, oldest first, up to the one before this write."""

    def put_evidence(self, changes: Iterable[tuple[StoredEvidence | None, Evidence]]) -> None:
        """Stores evidence, each new or in place of what is given with it, which has to be what is stored."""

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Keeps the float16 vectors of texts that no passage has, for what is compared with them later."""

    def recount(self, counts: Mapping[str, Mapping[str, Any]]) -> None:
        """Sets confidence, successes, trials and seen_at of rules, by id. Those that are gone are left out."""

    def change_memory(self, memory_id: str, **columns: Any) -> None:
        """Changes columns of a memory's row, of `body` single fields; `archived_at` takes it out of every search or brings it back."""

    def replace(
        self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, evidence: str | None = None
    ) -> None:
        """Puts a memory in place of the one with its id, as `add` would store it; it keeps its usage. `MemoryNotFoundError` if there is none."""


NextWrite = Callable[[], AbstractContextManager[Write]]
"""Begins the next write of a transaction that has several."""


class Memories(Protocol):
    """What a project holds, as a whole."""

    def counts(self) -> Sequence[PartitionCount]:
        """How many memories each partition holds, archived ones left out."""

    def records(
        self, kind: str, *, newest: int | None = None, under: str | None = None
    ) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Key, version and body of the small records of a kind, all of one moment: all, by key, or the `newest` that changed last, newest first.

        `under` leaves all but those whose key begins with it and a slash, without looking at others; it is given without `newest`.
        """


class Searchable(Protocol):
    """What a project holds, for retrieval."""

    def moment(self) -> AbstractContextManager[object]:
        """Inside, all that this thread reads is of one moment, and the store is looked at once instead of each time. Not for long work."""

    def changes(self, *, after: int) -> Iterator[VectorChanges]:
        """What a vector index must take in that holds everything up to `after`, in journal order, all of one moment."""

    def candidates(self, memories: Sequence[int]) -> Sequence[Candidate]:
        """What ranking needs of the memories that are not archived, in no order."""

    def within(
        self, partitions: Sequence[int], *, since: int | None = None, until: int | None = None, known_by: int | None = None
    ) -> Sequence[int]:
        """Rows of the memories of these partitions, ascending, archived ones left out: last seen from `since` to `until`, made by `known_by`.

        Times are in microseconds since 1970, and are included; `None` is no limit.
        """

    def passages(self, rows: Sequence[int]) -> Mapping[int, Passage]:
        """Passages by row. Unknown rows are left out."""

    def text_lists(self, words: Sequence[str], *, partitions: Sequence[int], common: CommonWords) -> TextLists:
        """Where the words of a question stand in the memories of these partitions, by which `alma.retrieval.bm25` scores them. All of one moment.

        There is one list for each different word as full text compares words, in the order of the question. Words that are `common` in the
        partitions are left out if any other word occurs; if none does, the first of them is listed, too. Memories of other partitions
        change nothing.
        """


class Log(Protocol):
    """What a project's journal tells without being read through."""

    def head(self) -> int:
        """The newest journal `seq`, 0 if nothing was ever written. One cheap look."""

    def head_at(self, seq: int) -> str:
        """The hash of a journal record in hexadecimal, "" if there is none: it tells two histories of one project apart."""

    def activity(self) -> Sequence[DayCount]:
        """How many journal records of each operation there are on each day, by day."""

    def newest_records(self, limit: int) -> Sequence[JournalEntry]:
        """The newest journal records, newest first."""


class Figures(Protocol):
    """What a project's figures are, for showing them to a person."""

    def growth(self) -> Sequence[PartitionDay]:
        """How many memories, archived ones left out, were made in each partition on each day, by day."""

    def telling(self, limit: int) -> Sequence[int]:
        """The memories with the most evidence, best first: used and praised, then tried most often, then newest. Archived ones left out."""

    def usage_totals(self) -> UsageTotals:
        """What was used of what was shown, over all memories that are not archived."""

    def sizes(self) -> Sizes:
        """How much each sort of content takes."""


@runtime_checkable
class ListsProjects(Protocol):
    """A store that can say which projects it holds."""

    def project_names(self) -> Sequence[str]:
        """The projects that hold anything, by name."""


class Journaled(Protocol):
    """What a project holds and held, for history, export and forgetting."""

    def rows(self) -> Iterator[StoredRow]:
        """Every logical row, archived ones too, all of one moment, one at a time. While it is being read, this thread cannot write."""

    def entries(self, *, after: int = 0, memory_ids: Sequence[str] | None = None) -> Iterator[Entry]:
        """The journal records after a `seq`, oldest first, all of one moment; with memories, those that changed one of them or what hangs on it."""

    def was_purged(self, memory_id: str) -> bool:
        """Whether a memory of this id was purged. Another id is never taken for it."""

    def stale(self, partitions: Sequence[int], *, seen_before: int | None, below: float | None) -> Sequence[str]:
        """The ids of the memories of these partitions, not archived, last seen before a time (in microseconds) and of a confidence below."""

    def purge(
        self,
        memory_ids: Sequence[str],
        *,
        records: Sequence[str],
        actor: str,
        at: int,
        then: Callable[[NextWrite], object] | None = None,
    ) -> Erased | None:
        """Erases memories and small records for good, in one transaction: their rows, and the payload of every journal record that changed them.

        A record is named "kind/key"; "kind/key/" stands for all whose key is that and a number. `None` if nothing of these names was ever there.
        `then` writes more in the same transaction, say what takes the place of what was erased; not if nothing was. Each write has a record.
        """


class Snapshot(Protocol):
    """A project, or one agent in it, line by line as it is exported, all of one moment. `CorruptStoreError` for one that cannot be read."""

    def head(self) -> tuple[int, str]:
        """Number and hash of the newest journal record."""

    def counts(self) -> ExportedCounts:
        """How much there is to read."""

    def records(self) -> Iterator[ExportedRecord]:
        """The small records by kind and key, but for who holds which episode; of an agent, its own episodes and the definitions of kinds."""

    def memories(self, *, vectors: bool) -> Iterator[ExportedMemory]:
        """Each memory in the order they were made, archived ones too, with its passages by position and its usage."""

    def evidence(self) -> Iterator[ExportedEvidence]:
        """The counts behind rules."""


class Portable(Protocol):
    """What a project holds, for lists and for taking it elsewhere."""

    def snapshot(self, *, agent: str | None = None, user: str | None = None) -> AbstractContextManager[Snapshot]:
        """Everything, or what belongs to one agent, or to one user. What this thread does meanwhile is of the present; it may write, too."""

    def listed(self, partitions: Sequence[int], *, since: int | None, limit: int, newest_first: bool) -> Sequence[int]:
        """Rows of the memories of some partitions, by the time they were made; archived ones are left out."""

    def writes(self, *, actor: str, operation: str, at: int) -> AbstractContextManager[NextWrite]:
        """As `Project.write`, for a call too large for one journal record: each write begun has a record of its own, and all land or none."""


class Project(Lookups, Memories, Searchable, Log, Figures, Journaled, Portable, Protocol):
    """One project of a store. It exists from its first write on; until then it reads as empty. Thread-safe."""

    @property
    def name(self) -> str:
        """The project's name."""

    @property
    def learned(self) -> Learned:
        """The evidence behind its rules."""

    def write(self, *, actor: str, operation: str, at: int) -> AbstractContextManager[Write]:
        """One call's write, under the project's lock. `at` is in microseconds since 1970. An exception inside undoes all of it."""


class Store(Protocol):
    """The truth: every memory of every project, its vectors, and the journals. Shared by threads and processes."""

    @property
    def id(self) -> str:
        """What no other database has."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The embedder that the database was made with."""

    def project(self, name: str) -> Project:
        """One project; made by its first write."""

    def size(self) -> int:
        """Bytes on disk."""

    def compact(self) -> bool:
        """Rewrites what is on disk without what was deleted. Whether all of it could be: not while others are in the middle of reading."""

    def verify(self) -> VerifyReport:
        """What is wrong with what is stored. Reads only."""

    def close(self) -> None:
        """Lets go of the database. Using it afterwards is a `StorageError`."""


StorageFactory = Callable[[StoreRequest], Store]
"""Opens a store, made if it is not there yet; of two that make it at once, both get the same. An entry point of the group `alma.storage`."""


class Holders(Protocol):
    """Tells which of the open stores that hold episodes still run. Thread-safe."""

    @property
    def id(self) -> str:
        """The name under which this store holds episodes, from the first read until `leave`."""

    def is_there(self, holder: object) -> bool:
        """Whether that holder still runs. `CorruptStoreError` for an invalid name."""

    def sweep(self) -> None:
        """Forgets holders that no longer run."""

    def leave(self) -> None:
        """Releases everything that this store holds. Twice is harmless."""


@runtime_checkable
class KnowsHolders(Protocol):
    """A store that several machines share. Without this ability, holders are known by files in the store's folder."""

    @property
    def holders(self) -> Holders:
        """The holders of episodes, on all machines."""


@runtime_checkable
class CachesVectors(Protocol):
    """A store whose vectors may be lost, and whose row numbers are those of one opening: no snapshot of an index outlives it."""

    def use_embedder(self, embed: Callable[[Sequence[str]], Sequence[bytes]], /) -> None:
        """Has float16 vectors made by this function where none are stored, now and later."""


@runtime_checkable
class Movable(Protocol):
    """A store that can be copied into another one of this sort, whatever database either stands on."""

    def copy_from(self, source: Any, progress: Callable[[int, int], None] | None = None) -> Moved:
        """Makes this new store what the source, a `Movable` too, is. What an earlier call copied stays. `StorageError` if they differ then."""

    def is_copy_of_another(self, source: Any) -> bool:
        """Whether a copy of something else than what the source holds now was begun here."""

    def take_place(self) -> None:
        """Closes a draft and gives it the place that it was made for. `ConflictError` if there is a store meanwhile."""

    def discard(self) -> None:
        """Closes a draft and deletes it."""


@runtime_checkable
class Relearnable(Protocol):
    """A store that may hold evidence as a former version of ALMA counted it."""

    def to_relearn(self) -> Sequence[str]:
        """The projects whose evidence has to be made anew from their outcomes."""

    def note_relearned(self, name: str) -> None:
        """Notes that this was done for a project."""


@runtime_checkable
class Encryptable(Protocol):
    """A store that can encrypt what it holds."""

    @property
    def is_encrypted(self) -> bool:
        """True when nothing readable may be written to a file, caches included."""


class NextVectors(Protocol):
    """The vectors that a store will have under another embedder, kept as they are made, so that who was interrupted goes on."""

    def progress(self) -> tuple[int, int]:
        """How many texts have their vector, and how many there are, in all projects."""

    def missing(self, *, after: int, limit: int) -> Sequence[Unembedded]:
        """At most `limit` passages without a vector, ascending by row, those of a row above `after`. Archived ones too: they may come back."""

    def put(self, vectors: Mapping[Unembedded, bytes]) -> int:
        """Keeps float16 vectors and says how many texts are new. `ConflictError` if another embedder was begun with meanwhile."""

    def compared(self) -> Sequence[tuple[int, str]]:
        """The texts by which strategies are compared, each with its project, that have no vector yet."""

    def put_compared(self, vectors: Mapping[tuple[int, str], bytes]) -> None:
        """Keeps the float16 vectors of such texts."""

    def switch(self) -> bool:
        """Makes them the store's vectors, in one transaction; `False`, and nothing done, while any is missing."""


@runtime_checkable
class Reembeddable(Protocol):
    """What a store can do beside that can change its embedder."""

    def next_vectors(self, fingerprint: Fingerprint) -> NextVectors:
        """What was made for this embedder before, or else a new set; one begun for another embedder is given up."""

    def drop_left_over(self) -> int:
        """Deletes vectors of embedders that are gone, and says how many."""

    def renewed(self) -> "Store":
        """The same open store, seen with the embedder that it has now. Closing either closes both."""


@runtime_checkable
class Rebuildable(Protocol):
    """A store that can make anew what follows from its journals."""

    def unembedded(self) -> Sequence[str]:
        """The texts that need a vector and have no sound one."""

    def rebuild(self, vectors: Mapping[str, bytes], *, at: int) -> VerifyReport:
        """Rebuilds what is damaged, in one transaction, with float16 vectors of texts that have none, and reports what it could and could not.

        A project that was rebuilt gets a journal record, and every process takes in its rows anew. `at` is in microseconds since 1970.
        """


@runtime_checkable
class Copyable(Protocol):
    """A store in a file that can copy itself while others write to it."""

    @property
    def file(self) -> str:
        """The path of the file."""

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> Copied:
        """Copies all of it into an empty file: a consistent view. `progress` receives how much is done, of how much. `StorageError` if it fails."""


class VectorIndex(Protocol):
    """Finds near passages of one project. A cache: may be dropped and rebuilt from the store. Thread-safe."""

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order. Changes at or before `upto` are ignored. All or nothing."""

    def search(self, query: "Vector", /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """The `limit` live passages of *each* partition with the greatest cosine; within a partition best first, equal ones by tie."""

    def score(self, query: "Vector", /, *, memories: "Integers") -> PassageScores:
        """All live passages of the given memories with their cosine, exactly. Unknown memories are left out."""

    def ties(self, memories: "Integers", /) -> tuple["Integers", "Integers"]:
        """Those of the memories, which ascend, that have a live passage, and the tie of each."""

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple["Integers", int]:
        """Memories of the partitions that stand for all of them, and how many there are.

        All, if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, which stay nearly the same as others are added.
        """


class CandidateSearch(Protocol):
    """Finds passages near a question, outside of the process if need be, and may miss some. A cache of one project: it follows the journal and
    may be dropped and filled again. `StorageError` from any method when it cannot be reached. Thread-safe.
    """

    @property
    def recall(self) -> float:
        """The share of the truly nearest passages that a search finds on average, at least; 1.0 for an exact one."""

    @property
    def upto(self) -> int:
        """Newest journal `seq` that it holds whole; 0 if it is empty, or holds what is not this project's under this embedder."""

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order, then their `upto`. Changes at or before `upto` are ignored; interrupted ones may be repeated."""

    def search(self, query: "Vector", /, *, partitions: Sequence[int], limit: int) -> "Integers":
        """The memories of about the `limit` nearest passages of *each* of the partitions, and of no other, ascending."""

    def clear(self) -> None:
        """Deletes all that it holds; `upto` is 0 then."""

    def close(self) -> None:
        """Releases connections. Twice is harmless."""


class ExactScorer(Protocol):
    """Scores memories by the vectors that the store holds, exactly. Thread-safe."""

    def score(self, query: "Vector", /, *, memories: "Integers") -> PassageScores:
        """All live passages of the given memories with their cosine. Unknown memories are left out."""

    def ties(self, memories: "Integers", /) -> tuple["Integers", "Integers"]:
        """Those of the memories, which ascend, that have a live passage, and the tie of each."""

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple["Integers", int]:
        """As `VectorIndex.sample`."""


@runtime_checkable
class StoredVectors(Protocol):
    """A project that gives its stored vectors by memory, so that no process has to hold all of them."""

    def vectors_of(self, memories: Sequence[int]) -> VectorChanges:
        """The live passages of memories with their vectors, as of `upto`."""

    def vectors_in(self, partitions: Sequence[int]) -> Iterator[VectorChanges]:
        """All live passages of partitions with their vectors, some thousand at a time, all of one moment."""

    def ties_of(self, memories: Sequence[int]) -> tuple["Integers", "Integers"]:
        """Those of the memories that have a live passage with a vector, ascending, and the tie of each."""

    def smallest_ties(self, partitions: Sequence[int], limit: int) -> "Integers":
        """The memories of partitions with the smallest ties, equal ones by row, of those that have a live passage with a vector."""

    def population(self, partitions: Sequence[int]) -> int:
        """How many memories of these partitions have a live passage with a vector."""

    def touched(self, *, after: int) -> "Integers | None":
        """The memories whose passages changed after a `seq`; `None` if rows were deleted since."""


CandidateFactory = Callable[[VectorsRequest], CandidateSearch]
"""Opens the vectors of one project outside of the process. An entry point of the group `alma.vectors`; it may connect later."""


@runtime_checkable
class SearchesVectors(Protocol):
    """A store that searches vectors by itself, such as a database with an index of vectors."""

    def candidate_search(self, request: VectorsRequest) -> CandidateSearch | None:
        """The search of a project; `None` if this database cannot, and each process shall hold an index."""
