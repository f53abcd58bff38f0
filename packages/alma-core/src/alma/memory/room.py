"""The context of the use cases: one project of one open store."""

import contextlib
import hashlib
import io
import logging
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from alma.config import ForgettingSettings, MaintenanceSettings
from alma.embedding import Options
from alma.errors import AlmaError, StorageError, ValidationError
from alma.forking import renewed_in_children
from alma.learning.catching_up import catch_up
from alma.learning.forecasting import JudgedBag
from alma.learning.kernels import calibration_of
from alma.learning.ledger import Book, Ledger, Owners
from alma.learning.wording import wording
from alma.memory.arguments import checked_call
from alma.memory.books import Books
from alma.memory.pending_episodes import Openings
from alma.memory.pool import Pool
from alma.memory.presence import Presence
from alma.memory.readable import ReadableScopes
from alma.memory.redacting import Redaction
from alma.memory.search_sizes import SearchSizes
from alma.memory.texts import TextVectors
from alma.memory.vectors_outside import IndexOutside
from alma.memory.watching import Watcher
from alma.protocols import (
    CachesVectors,
    CandidateFactory,
    Clock,
    Encryptable,
    Holders,
    KnowsHolders,
    ListsProjects,
    Project,
    SearchesVectors,
    Store,
    StoredVectors,
    VectorsRequest,
    Write,
)
from alma.scoring import Profile
from alma.text import normalised, spelt
from alma.types.identity import to_micros
from alma.types.partition import Partition
from alma.types.scope import MemoryScope, UserWall
from alma.vectors import ProjectIndex, SnapshotIdentity, load, save
from alma.vectors.index import FAISS_ABOVE, Run, at_once

_LOG = logging.getLogger("alma")

SNAPSHOT_FROM = 200_000
"""A smaller index is read from the database in about a second; a snapshot would take as much disk again as its vectors."""


def _deleted(path: Path) -> bool:
    """Deletes a file and returns True when it is gone. If it cannot be deleted, a warning is logged, since the work of the call itself is
    done."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("%s could not be deleted: %s; delete it yourself", path, error.strerror or error)
        return False
    return True


class IndexCache:
    """Cache of the vector index of one project. It is updated before each use, and saved in a snapshot between processes when it is
    large."""

    def __init__(
        self,
        project: Project,
        *,
        identity: SnapshotIdentity,
        path: Path,
        snapshot_from: int = SNAPSHOT_FROM,
        faiss_above: int = FAISS_ABOVE,
        keeps_snapshot: bool = True,
        run: Run = at_once,
    ) -> None:
        """`run` calls a function beside the call that is running: see `ProjectIndex`."""
        self._project = project
        self._identity = identity
        self._path = path
        self._snapshot_from = snapshot_from
        self._faiss_above = faiss_above
        self._keeps_snapshot = keeps_snapshot
        self._run = run
        self._index: ProjectIndex | None = None
        self._saved_upto = 0
        self._lock = threading.Lock()
        renewed_in_children(self)

    def current(self) -> ProjectIndex:
        """Returns the index with everything that any process has written so far."""
        head = self._project.head()
        index = self._index
        if index is None or index.upto < head:
            index = self._catch_up(head)
        return index

    def _catch_up(self, head: int) -> ProjectIndex:
        with self._lock:
            if self._index is None:
                dimension = self._identity.fingerprint.dimension
                self._index = self._loaded(head) or self._empty(dimension)
            if self._index.upto < head:
                for changes in self._project.changes(after=self._index.upto):
                    self._index.apply(changes)
            return self._index

    def _empty(self, dimension: int) -> ProjectIndex:
        return ProjectIndex(dimension, faiss_above=self._faiss_above, run=self._run)

    def _loaded(self, head: int) -> ProjectIndex | None:
        if not self._keeps_snapshot:
            return None
        index = load(self._path, self._identity, newest=head, head_at=self._project.head_at, new_index=self._empty)
        self._saved_upto = index.upto if index else 0
        return index

    def save(self) -> None:
        """Writes the snapshot of the current content, without purged memories, if that saves the next process much time. Work beside
        calls ends."""
        index = self._index
        if index is not None:
            index.stop()
        if not self._keeps_snapshot or index is None or len(index) < self._snapshot_from or index.upto == self._saved_upto:
            return
        try:
            index = self.current()
            with self._lock:
                save(index, self._path, self._identity, head_at=self._project.head_at)
                self._saved_upto = index.upto
        except (OSError, AlmaError) as error:
            _LOG.warning(
                "the vector snapshot %s was not written: %s; the next process reads the database instead", self._path, error
            )

    def renew_in_child(self) -> None:
        """Keeps the index, unless another thread was changing it."""
        if self._lock.locked():
            self._index, self._saved_upto = None, 0
        if self._index is not None:
            self._index.renew_locks()
        self._lock = threading.Lock()

    def drop_snapshot(self) -> bool | None:
        """Deletes the snapshot; the index in memory stays. Returns whether there was one; `None` if it could not be deleted, which is
        logged."""
        with self._lock:
            self._saved_upto = 0
            found = self._path.exists()
            return found if _deleted(self._path) else None


@dataclass(slots=True)
class OpenStore:
    """An open database with everything that its projects share."""

    storage: Store
    folder: Path
    texts: TextVectors
    clock: Clock
    agents: Mapping[str, MemoryScope]
    profile: Profile
    redaction: Redaction
    embedder_options: Options = field(default_factory=dict)
    forgetting: ForgettingSettings = field(default_factory=ForgettingSettings)
    maintenance: MaintenanceSettings = field(default_factory=MaintenanceSettings)
    sizes: SearchSizes = field(default_factory=SearchSizes)
    users: UserWall = UserWall.SEPARATE
    candidates: CandidateFactory | None = None
    """Opens the search of a project's vectors outside of this process, if a configuration names one."""
    vector_options: Mapping[str, object] = field(default_factory=dict)
    projects: dict[str, "Room"] = field(default_factory=dict)
    successor: "OpenStore | None" = field(default=None, init=False)
    closing: list[Callable[[], object]] = field(default_factory=list, init=False)
    watchers: tuple[Watcher, ...] = field(default=(), init=False)
    is_closed: bool = field(default=False, init=False)
    presence: Holders = field(init=False)
    openings: Openings = field(init=False)
    beside: Pool = field(init=False)
    """Threads for the second search of a large scope."""

    def __post_init__(self) -> None:
        self.presence = self.storage.holders if isinstance(self.storage, KnowsHolders) else Presence(self.folder)
        self.openings = Openings()
        self.beside = Pool("alma-search", closed=f"the store in {self.folder} was closed; open ALMA again")

    @property
    def is_encrypted(self) -> bool:
        """True when nothing readable may be written to a file."""
        return isinstance(self.storage, Encryptable) and self.storage.is_encrypted

    def spool(self) -> BinaryIO:
        """Returns an unnamed temporary file; one in memory if the store is encrypted, because a file on disk would be readable."""
        return io.BytesIO() if self.is_encrypted else tempfile.TemporaryFile()

    def room(self, name: str) -> "Room":
        """Returns the project of that name, the same object for every caller."""
        return self.projects.setdefault(name, self._room(name)) if name not in self.projects else self.projects[name]

    def _check_secrets(self, name: str) -> None:
        """`ValidationError` if a secret is in the name of a project that is not there yet."""
        try:
            self.redaction.check_name(name, "project_id")
        except ValidationError:
            if not isinstance(self.storage, ListsProjects) or name not in self.storage.project_names():
                raise

    def _room(self, name: str) -> "Room":
        self._check_secrets(name)
        project = self.storage.project(name)
        outside = self._outside(project)
        if outside is not None:
            return Room(self, project, outside)
        identity = SnapshotIdentity(self.storage.id, name, self.texts.fingerprint)
        index = IndexCache(
            project,
            identity=identity,
            path=self._snapshot_path(name),
            faiss_above=self.sizes.faiss_above,
            keeps_snapshot=not self.is_encrypted and not isinstance(self.storage, CachesVectors),
            run=self._beside,
        )
        return Room(self, project, index)

    def _beside(self, call: Callable[[], object]) -> None:
        """Calls a function in another thread, unless the store closes."""
        with contextlib.suppress(StorageError):
            self.beside.submit(call)

    def _outside(self, project: Project) -> IndexOutside | None:
        """The index of a project whose vectors are searched outside of this process."""
        storage, make = self.storage, self.candidates
        if not isinstance(project, StoredVectors) or (make is None and not isinstance(storage, SearchesVectors)):
            return None
        options, fingerprint = self.vector_options, self.texts.fingerprint
        request = VectorsRequest(str(self.folder), storage.id, project.name, fingerprint, options, project.head_at)
        if make is None:
            found = storage.candidate_search(request) if isinstance(storage, SearchesVectors) else None
            return None if found is None else IndexOutside(project, request, lambda request: found, locks_itself=True)
        return IndexOutside(project, request, make)

    def _snapshot_path(self, name: str) -> Path:
        digest = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
        return self.folder / f"{self.storage.id}.{digest}.index"

    def succeed(self, storage: Store, texts: TextVectors) -> None:
        """Replaces this store by the same one under another embedder. Running calls end with an error rather than mix vectors."""
        successor = copy(self)
        successor.storage, successor.texts, successor.projects = storage, texts, {}
        if isinstance(storage, CachesVectors):
            storage.use_embedder(texts.embedded)
        with contextlib.suppress(
            StorageError, OSError
        ):  # a leftover has another embedder and is never used; the next snapshot replaces it
            for snapshot in self._files(f"{storage.id}.*.index"):
                snapshot.unlink()
        self.successor = successor

    def drop_snapshots(self) -> int:
        """Deletes the vector snapshots of all projects, half-written ones too, and returns their number."""
        found = self._files(f"{self.storage.id}.*.index*") + self._files(f".{self.storage.id}.*.index*")
        for room in list(self.projects.values()):
            room.index.drop_snapshot()
        return sum(_deleted(path) for path in found)

    def _files(self, pattern: str) -> list[Path]:
        """Returns the files in the store's folder whose names match. `StorageError` if the folder cannot be read."""
        try:
            return list(self.folder.glob(pattern))
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be read: {error.strerror or error}") from error

    def check_open(self) -> None:
        """Raises `StorageError` once the store is closed."""
        if self.is_closed:
            raise StorageError(f"the store in {self.folder} was closed; open ALMA again")

    def before_close(self, call: Callable[[], object]) -> Callable[[], None]:
        """Registers a callback that runs before the store closes. Returns a function that removes it."""
        self.check_open()
        self.closing.append(checked_call(call, "call"))

        def take_back() -> None:
            with contextlib.suppress(ValueError):
                self.closing.remove(call)

        return take_back

    def close(self) -> None:
        """Runs the registered callbacks, saves snapshots and closes the database."""
        while self.closing:
            try:
                self.closing.pop()()
            except Exception:  # noqa: BLE001 - a failing callback must not keep the store open
                _LOG.exception("a call that was to be made before the store closed failed")
        self.is_closed = True
        for room in list(self.projects.values()):
            room.index.save()
        self.storage.close()
        self.beside.close()
        self.texts.close()
        self.presence.leave()


@dataclass(slots=True)
class Room:
    """One project of an open store."""

    store: OpenStore
    project: Project
    index: IndexCache | IndexOutside
    ledger: Ledger | None = None
    books: Books = field(init=False)
    agents: set[str] = field(default_factory=set)
    """Names known to be agents. A name stays one: an agent that has memories has them forever, if only archived ones."""
    scopes: ReadableScopes = field(default_factory=ReadableScopes)
    _with_users: tuple[Mapping[int, Partition], frozenset[str]] = field(default=({}, frozenset()))
    judged: dict[str, tuple[int, Mapping[str, JudgedBag]]] = field(default_factory=dict)
    """Cache of the judged episodes of agents, each as of a journal record; see `alma.memory.episodes.forecasts`."""

    def __post_init__(self) -> None:
        self.books = Books(self.project, self.empty_ledger)

    def has_users(self, agent: str, known: Mapping[int, Partition]) -> bool:
        """Returns whether anything was recorded for a user of an agent, given all partitions."""
        if self._with_users[0] is not known:
            self._with_users = (
                known,
                frozenset(one.agent for one in known.values() if one.agent is not None and one.user_id is not None),
            )
        return agent in self._with_users[1]

    def take_ledger(self, write: Write) -> Ledger:
        """Takes the cached evidence, updated for a write. No other caller has it until `keep_ledger` returns it."""
        ledger, self.ledger = self.ledger, None
        learned_seq = write.learned_seq
        if ledger is not None and ledger.upto < learned_seq:
            entries = write.entries(after=ledger.upto)
            is_current = catch_up(ledger, entries, upto=learned_seq, learned=write.learned, vectors_of=write.stored.vectors)
            ledger = ledger if is_current else None
        return ledger if ledger is not None and ledger.upto == learned_seq else self.empty_ledger(learned_seq)

    def empty_ledger(self, upto: int) -> Ledger:
        """Returns an empty ledger as of a journal record."""
        fingerprint = self.store.texts.fingerprint
        is_shared = self.store.users is UserWall.SHARED
        return Ledger(upto, calibration_of(fingerprint), fingerprint.dimension, is_shared)

    def keep_ledger(self, ledger: Ledger) -> None:
        """Caches the evidence of a committed write. Another write may have committed since; `upto` shows that to the next one. Evidence
        of a write that failed is never cached, because another process may commit a record of the same number."""
        self.ledger = ledger

    def drop_ledger(self) -> None:
        """Drops the cached evidence, and the texts in it."""
        self.ledger = None
        self.books.drop()
        self.judged.clear()

    def forget_texts(self) -> None:
        """Lets go of all texts and names that this process remembers: what was purged may be among them."""
        self.store.texts.forget()
        self.scopes = ReadableScopes()
        self.drop_ledger()
        for remembered in (normalised, spelt, wording):
            remembered.cache_clear()

    def book(self, agents: Owners) -> AbstractContextManager[Book]:
        """Yields the newest evidence of some agents, for questions, as of now. One thread at a time holds it."""
        return self.books.of(agents)

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.project.name

    @property
    def latest(self) -> "Room":
        """The same project under the current embedder of the store: another room after this process re-embedded the store."""
        store = self.store
        while store.successor is not None:
            store = store.successor
        return self if store is self.store else store.room(self.name)

    def now(self) -> int:
        """Returns the current time in microseconds since 1970."""
        return to_micros(self.store.clock())
