"""The context of the use cases: one project of one open store."""

import contextlib
import hashlib
import io
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4
from weakref import WeakValueDictionary

from alma.config import ForgettingSettings, MaintenanceSettings
from alma.embedding import Options
from alma.embedding.scale import Scale
from alma.errors import ConfigurationError, StorageError, ValidationError
from alma.memory.arguments import Redaction, checked_call
from alma.memory.index_cache import IndexCache, IndexOutside, deleted
from alma.memory.operation import Watcher
from alma.memory.outcome_projection import OutcomeProjections
from alma.memory.pool import Pool
from alma.memory.scopes import Scopes
from alma.memory.texts import TextVectors
from alma.protocols import (
    CachesVectors,
    CandidateFactory,
    Clock,
    CommonWords,
    Encryptable,
    FindContradictions,
    ListsProjects,
    Project,
    SearchesVectors,
    Store,
    StoredVectors,
    VectorsRequest,
)
from alma.retrieval import fusion
from alma.scoring import Profile
from alma.storage.relational.session import COMMITS
from alma.text import composed, normalised, quoted, spelt
from alma.types.custom import DEFINITIONS, stored_type
from alma.types.identity import MemoryScope, Partition, UserWall, to_micros
from alma.types.memories import MEMORY_CLASSES
from alma.vectors import SnapshotIdentity
from alma.vectors.index import CODES_ABOVE
from alma_learning import forget_texts


@dataclass(frozen=True, slots=True)
class SearchSizes:
    """Thresholds of searches.

    A scope of at most `all_up_to` memories is searched whole, and is its own background. For a larger one, `sample` memories are the
    background, and each arm contributes at least `hits` candidates. A scope of at most `beside_above` is searched faster than another
    thread can start. Of a scope that is limited by time, up to `all_within` memories are all
    compared. `common` defines the words that are left out of a question, and `codes_above` the number of contents of a
    kind above which FAISS searches.
    """

    all_up_to: int = 2_000
    sample: int = 1_000
    all_within: int = 20_000
    hits: int = 100
    beside_above: int = 20_000
    common: CommonWords = fusion.COMMON
    codes_above: int = CODES_ABOVE


_LOG = logging.getLogger("alma")


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
    blocks: Mapping[str, Mapping[str, object] | None] = field(default_factory=dict)
    """Blocks of the configuration that packages read, by their names."""
    projects: dict[str, "Room"] = field(default_factory=dict)
    successor: "OpenStore | None" = field(default=None, init=False)
    closing: list[Callable[[], object]] = field(default_factory=list, init=False)
    watchers: tuple[Watcher, ...] = field(default=(), init=False)
    is_closed: bool = field(default=False, init=False)
    find_contradictions: FindContradictions | None = field(default=None, init=False)
    """Of what is installed, looked up when a slice first has two facts."""
    unwritten: WeakValueDictionary[str, Any] = field(default_factory=WeakValueDictionary, init=False)
    """Recorders of episodes of which nothing is stored yet, by id, each while its episode is referenced and no write of it fails."""
    name: str = field(default_factory=lambda: uuid4().hex, init=False)
    """Distinguishes this opening from all others of the same store."""
    beside: Pool = field(init=False)
    """Threads for the second search of a large scope."""

    def __post_init__(self) -> None:
        self.beside = Pool("alma-search", closed=f"the store in {self.folder} was closed; open ALMA again")

    @property
    def is_encrypted(self) -> bool:
        """True when nothing readable may be written to a file."""
        return isinstance(self.storage, Encryptable) and self.storage.is_encrypted

    def spool(self) -> BinaryIO:
        """Returns an unnamed temporary file; one in memory if the store is encrypted, because a file on disk would be readable."""
        return io.BytesIO() if self.is_encrypted else tempfile.TemporaryFile()

    def room(self, name: str) -> "Room":
        """Returns the project of that name, the same object for every caller. A project that an earlier version made under another Unicode form of
        the name is that project."""
        if name not in self.projects and not name.isascii() and isinstance(self.storage, ListsProjects):
            stored = self.storage.project_names()
            name = name if name in stored else next((one for one in stored if composed(one) == name), name)
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
            codes_above=self.sizes.codes_above,
            keeps_snapshots=not self.is_encrypted and not isinstance(self.storage, CachesVectors),
            run=self.beside.submit,
        )
        return Room(self, project, index)

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
        return sum(deleted(path) for path in found)

    def _files(self, pattern: str) -> list[Path]:
        """Returns the files in the store's folder whose names match. `StorageError` if the folder cannot be read."""
        try:
            # Not `glob`: since Python 3.12 it returns nothing for a folder that cannot be read.
            return [path for path in self.folder.iterdir() if fnmatchcase(path.name, pattern)]
        except FileNotFoundError:
            return []
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


@dataclass(slots=True, weakref_slot=True)
class Room:
    """One project of an open store."""

    store: OpenStore
    project: Project
    index: IndexCache | IndexOutside
    projections: OutcomeProjections = field(init=False)
    scopes: Scopes = field(init=False)
    _with_users: tuple[Mapping[int, Partition], frozenset[str]] = field(default=({}, frozenset()))
    judged: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """Cache of the judged episodes of agents, each as of a journal record; see `alma.memory.episodes.forecasts`."""

    def __post_init__(self) -> None:
        COMMITS.opened[id(self.project)] = self
        self.scopes = self._new_scopes()
        self.projections = OutcomeProjections(self.project, self.store.texts, self.store.agents, self.store.users)
        for follow in COMMITS.followers:
            follow(self.project, 0)

    def _new_scopes(self) -> Scopes:
        return Scopes(self.project, self.store.agents, self.store.users)

    def has_users(self, agent: str, known: Mapping[int, Partition]) -> bool:
        """Returns whether anything was recorded for a user of an agent, given all partitions."""
        if self._with_users[0] is not known:
            self._with_users = (
                known,
                frozenset(one.agent for one in known.values() if one.agent is not None and one.user_id is not None),
            )
        return agent in self._with_users[1]

    def forget_texts(self) -> None:
        """Lets go of all texts and names that this process remembers: what was purged may be among them."""
        self.store.texts.forget()
        self.scopes = self._new_scopes()  # not emptied: a call that is running fills the former cache
        self.projections.drop()
        self.judged.clear()
        forget_texts()
        for remembered in (normalised, spelt):
            remembered.cache_clear()

    def profile_for(self, kinds: Iterable[str], usual: Profile) -> Profile:
        """Returns the usual weights, with the own weights of those kinds that define them."""
        own = [name for name in kinds if name not in MEMORY_CLASSES]
        if not own:
            return usual
        found = self.project.record(DEFINITIONS, own)
        weights = {name: stored_type(body).scoring_weights for name, (_, body) in found.items() if body}
        return usual.with_kinds({name: given for name, given in weights.items() if given}) if any(weights.values()) else usual

    @property
    def scale(self) -> Scale | None:
        """Spread of the embedder's cosines, as far as it is known without a call of the embedder; `None` also if they do not separate meanings."""
        return self.store.texts.scale_at_hand(self.project)

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


def find_room(storage: object) -> Room | None:
    """Returns an open project of a store, `None` if none is open."""
    rooms = (room for room in COMMITS.opened.values() if isinstance(room, Room) and room.store.storage is storage)
    return next(rooms, None)


class Face:
    """An object of public methods on one project of an open store."""

    def __init__(self, room: object = None) -> None:
        if not isinstance(room, Room):
            given = "" if room is None else quoted(room)
            raise ConfigurationError(
                f"a memory is opened by ALMA.open or ALMA.from_config, not by {type(self).__name__}({given})"
            )
        self._opened = room

    @property
    def _room(self) -> Room:
        return self._opened.latest

    @property
    def _store(self) -> OpenStore:
        return self._room.store
