"""The journals of a folder and their projection: what lands in one lands in the other.

The projection is a SQLite file of this open store alone, in the cache, without fsync: threads read and write it as they do any SQLite store. It is
deleted at the end.
"""

import logging
import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from alma import journal
from alma.errors import CorruptStoreError, StorageError
from alma.files import STORE_HEADER
from alma.folders import lock
from alma.journal import UPGRADED, JournalRecord
from alma.storage.relational.reembedding import SERVING, compared_texts
from alma.storage.relational.rows import text_hash
from alma.storage.relational.session import note_checksum
from alma.storage.sqlite import connections
from alma.storage.sqlite.connections import Connection, locked, storage_errors
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.files import create_database
from alma.storage.sqlite.fulltext import FTS5Index
from alma_files.cached import add_new, replace_all, serving_cache, take_next, take_serving
from alma_files.layout import HEAD_ENDING, Layout, State
from alma_files.lines import check_chain, line_of, read_lines
from alma_files.locking import locked_file
from alma_files.projected import (
    end_of,
    erased_in,
    erased_seqs,
    erases,
    fill,
    hash_at,
    heads,
    newest_vector,
    records_of,
    row_of,
    stored_values,
    texts_of,
    vector_row,
)
from alma_files.projecting import SEAL, project_difference, project_new, project_whole
from alma_files.vector_cache import Extent
from alma_upgrade.projects import log_upgrade, upgrade_projects

_LOG = logging.getLogger("alma")

MOST_MEMORIES = 20_000

Embed = Callable[[Sequence[str]], Sequence[bytes]]

_MISSING = """
    SELECT DISTINCT p.project, p.text FROM passage p WHERE p.text_hash IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM vector v WHERE v.project = p.project AND v.text_hash = p.text_hash AND v.embedder = :embedder)"""

Heads = Mapping[str, int]


def _delete(place: Path, presence: int, made_by: int) -> None:
    """Deletes a projection, in the process that made it."""
    if made_by == os.getpid():
        with suppress(OSError):
            os.close(presence)
        shutil.rmtree(place, ignore_errors=True)


class FileDatabase(Database):
    """Sessions on the projection. Before each, what other processes wrote is taken in; a write lands in the files before it is done."""

    def __init__(self, layout: Layout, values: Mapping[str, str], *, at: int, lock_timeout: float | None, is_draft: bool) -> None:
        self.layout = layout
        self.is_draft = is_draft
        self._embed: tuple[str, Embed] | None = None
        self._known: State = {}
        self._read: Extent | None = None
        self._lines: dict[str, int] = {}
        self._holder: int | None = None
        self._is_landing = False
        self._has_warned = False
        self._landed: list[tuple[Path, int, JournalRecord]] = []
        self._turns = threading.RLock()
        self._place = layout.cache / f"projection-{uuid.uuid4().hex}"
        self._values = dict(values)
        with storage_errors(layout.folder), locked_file(layout.lock, seconds=lock_timeout or connections.BUSY_SECONDS):
            layout.sweep()
            self._place.mkdir(mode=0o700)
            presence = os.open(self._place / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            self._delete = weakref.finalize(self, _delete, self._place, presence, os.getpid())
            self._delete.atexit = False
            lock(presence)
            create_database(self._place / "alma.db", lambda connection: fill(connection, values, at))
        super().__init__(self._place / "alma.db", lock_timeout=lock_timeout)
        self.path = layout.folder

    def renew_in_child(self) -> None:
        """As the database does; a lock that a thread of the parent held is not held here."""
        super().renew_in_child()
        self._turns, self._holder, self._is_landing = threading.RLock(), None, False

    def _take(self, waits: float | None = None) -> Connection:
        connection = super()._take(waits)
        if not getattr(connection, "is_scratch", False):
            connection.execute("PRAGMA synchronous=OFF")
            connection.is_scratch = True  # type: ignore[attr-defined] # once for each connection
        return connection

    @contextmanager
    def transaction(self, project: str | None = None) -> Iterator[Connection]:
        """One write: its lines are in the file, synced, before it is done; or nothing of it is."""
        if self.is_draft or self._holder == threading.get_ident():
            with super().transaction(project) as connection:
                yield connection
            return
        with self._locked():
            self._catch_up()
            self._is_landing, self._landed = True, []
            try:
                with super().transaction(project) as connection:
                    before, newest = heads(connection), newest_vector(connection)
                    yield connection
                    self._land(connection, before, newest, of_store=project is None)
            except BaseException:
                self._take_back()
                raise
            else:
                for path, _, newest_record in self._landed:
                    self.layout.note_newest(path, newest_record)
                    self._lines[path.name] = newest_record.seq
                self._known = self.layout.state()
            finally:
                self._is_landing = False

    def _take_back(self) -> None:
        """Cuts off the lines of a write that did not end: it was not acknowledged. They stay if an interrupt came after its commit, or if its
        commit cannot be looked up: the next call takes in the lines that the files hold."""
        if not self._landed:
            return
        # Apart, because the thread may be in the middle of an older snapshot.
        with suppress(StorageError), super().snapshot_apart() as connection:
            committed = heads(connection)
            for path, size, newest in self._landed:
                if committed.get(newest.project, 0) < newest.seq:
                    self.layout.truncate(path, size)

    def reading(self) -> AbstractContextManager[Connection]:
        """A session that sees what any process wrote before."""
        self._look()
        return super().reading()

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A view that has what any process wrote before."""
        self._look()
        return super().snapshot()

    @contextmanager
    def snapshot_apart(self) -> Iterator[Connection]:
        """A view that has what any process wrote before."""
        self._look()
        with super().snapshot_apart() as connection:
            yield connection

    def catch_up(self) -> None:
        """Takes in what the files hold now."""
        with self._locked():
            self._catch_up()

    def upgrade(self, *, at: int) -> None:
        """Brings the journals of a former version up to date, each by a record of its own. The header follows: killed before, it is done again."""
        with self.transaction(UPGRADED) as connection:  # with a name: else the header would be written before the journals
            if not self.layout.is_former():
                return
            reports = list(upgrade_projects(connection, FTS5Index(SEAL), SEAL, at=at))
        with self._locked():
            if self.layout.is_former():
                self.layout.write_header(self.layout.read_header() or {})
                self._known = self.layout.state()
        log_upgrade(self.name, reports)

    def erase(self) -> None:
        """Writes all files anew: nothing is left in them of what the tables do not hold."""
        with self._locked():
            self._catch_up()
            with super().transaction() as connection:
                self.write_all(connection)
            self._known = self.layout.state()

    def write_all(self, connection: Connection) -> None:
        """Writes header, journals and vectors from the tables."""
        self._replace_vectors(connection)
        for name in heads(connection):
            self._rewrite(connection, name)
        self._write_header(connection)

    def close(self) -> None:
        """Ends the use of the store here, and deletes the projection."""
        super().close()
        self._delete()

    def _look(self) -> None:
        use = getattr(self._mine, "use", None)
        is_inside = self._holder == threading.get_ident() or (use is not None and not use.is_over)
        if self.is_draft or self._is_closed or is_inside or self._is_landing:
            return  # a thread that is landing has taken in all that others wrote, and holds their lock
        if self.layout.state() != self._known:
            self.catch_up()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        seconds, me = self._waits(), threading.get_ident()
        if self._holder == me:
            raise StorageError(f"{self.path}: this thread is in the middle of a write; it can write again when that has landed")
        try:
            if not self._turns.acquire(timeout=seconds):
                raise locked(self.path, seconds)
            self._holder = me
            try:
                with locked_file(self.layout.lock, seconds=seconds):
                    yield
            finally:
                self._holder = None
        finally:
            with suppress(RuntimeError):  # the turn did not come
                self._turns.release()

    def _catch_up(self) -> None:
        """Takes in what is new. The caller holds the lock."""
        found = self.layout.state()
        if found == self._known:
            return
        if gone := self._known.keys() - found.keys():
            raise StorageError(f"{self.path / min(gone)} was moved or deleted while it was open; open ALMA again")
        for head in self.path.glob(f"*{HEAD_ENDING}"):
            if head.with_suffix(".jsonl").name not in found:
                self.layout.check_newest(head.with_suffix(".jsonl"), [])
        with super().transaction() as connection:
            changed = {name: state for name, state in found.items() if self._known.get(name) != state}
            served = stored_values(connection)[SERVING[1]]
            if STORE_HEADER in changed:
                self._take_header(connection)
            cached = self._cached_vectors(connection, changed)
            for name in changed:
                if name != STORE_HEADER:
                    self._take_journal(connection, name, cached)
            if STORE_HEADER in changed:
                if stored_values(connection)[SERVING[1]] != served:
                    take_serving(connection, self.layout.cache)
                take_next(connection, self.layout.cache)
            self._warn_if_large(connection)
        self._known = self.layout.state()

    def _cached_vectors(self, connection: Connection, changed: State) -> Mapping[bytes, bytes]:
        """The cached vectors that changed journals may need. For journals that have grown those are the new ones: a cache is long to read."""
        journals = changed.keys() - {STORE_HEADER}
        if not journals:
            return {}
        known = self._read if journals <= self._known.keys() else None
        cached, self._read = serving_cache(connection, self.layout.cache).read(known)
        return cached

    def _take_header(self, connection: Connection) -> None:
        values = self.layout.read_header()
        if values is None or values == stored_values(connection):
            return
        connection.execute("DELETE FROM store")
        connection.run_many("store_put", [{"key": key, "value": value} for key, value in values.items()])
        note_checksum(connection)

    def _take_journal(self, connection: Connection, name: str, cached: Mapping[bytes, bytes]) -> None:
        path, before = self.layout.folder / name, self._known.get(name)
        stat = path.stat()
        start = before[1] if before is not None and before[0] == stat.st_ino and before[1] < stat.st_size else 0
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        first = self._lines.get(name, 0) + 1 if start else 1
        read = read_lines(data, name=str(path), first_line=first)
        records = read.records
        if records and len({record.project for record in records}) > 1:
            raise CorruptStoreError(f"{path} holds records of several projects; restore it, from git say")
        if records:
            project = records[0].project
            if self.layout.journal(project) != path:
                raise CorruptStoreError(
                    f"{path} holds records of project {project!r}, which belong to another file; move it away"
                )
            seq, head = self._before(connection, project, records[0].seq) if start else (0, journal.GENESIS)
            list(check_chain(records, seq=seq, head=head, name=str(path), first_line=first))
            self._project(connection, project, records, cached, is_whole=not start)
        if not start:
            self.layout.check_newest(path, records)
        if read.is_unended:
            self.layout.append(path, b"\n")
        if read.whole < len(data):
            _LOG.warning("%s ended in a call that was not written whole; its %d bytes were cut off", path, len(data) - read.whole)
            self.layout.truncate(path, start + read.whole)
        self._lines[name] = first - 1 + len(records)
        if records:
            self.layout.note_newest(path, records[-1])

    def _before(self, connection: Connection, project: str, first: int) -> tuple[int, bytes]:
        """The record before new ones. Some of these may be there already: a forked process shares the projection."""
        seq, head = end_of(connection, project)
        if 0 < first <= seq:
            return first - 1, hash_at(connection, row_of(connection, project), first - 1)
        return seq, head

    def _project(
        self,
        connection: Connection,
        project: str,
        records: Sequence[JournalRecord],
        cached: Mapping[bytes, bytes],
        *,
        is_whole: bool,
    ) -> None:
        seq, _ = end_of(connection, project)
        row = next((int(row) for (row,) in connection.all("project_by_name", {"name": project})), None)
        known, new = [record for record in records if record.seq <= seq], [record for record in records if record.seq > seq]
        if (is_whole and len(known) < seq) or (known and known[-1].hash != self._hash_of(connection, row, known[-1].seq)):
            raise StorageError(f"the journal of project {project!r} in {self.path} was replaced by another one; open ALMA again")
        is_same = not is_whole or (row is not None and erased_seqs(connection, row) == erased_in(known))
        if seq and is_same:
            self._keep(connection, row or 0, new, cached)
            connection.execute("SAVEPOINT new")
            if project_new(connection, project, new):
                connection.execute("RELEASE new")
                self._embed_missing(connection)
                return
            connection.execute("ROLLBACK TO new")
            connection.execute("RELEASE new")
        if not is_whole and any(map(erases, new)):  # a purge puts another file in place
            raise CorruptStoreError(f"the journal of project {project!r} in {self.path} has a purge that erased nothing")
        every = records if is_whole else [*records_of(connection, project, row or 0, 0), *new]
        if seq:
            self._keep(connection, row or 0, every, cached)
            project_difference(connection, project, every)
        else:
            project_whole(connection, project, every)
            self._keep(connection, row_of(connection, project), every, cached)
        self._embed_missing(connection)

    def _hash_of(self, connection: Connection, row: int | None, seq: int) -> bytes:
        return journal.GENESIS if row is None else hash_at(connection, row, seq)

    def _keep(self, connection: Connection, row: int, records: Sequence[JournalRecord], cached: Mapping[bytes, bytes]) -> None:
        """Stores the vectors of the texts of records, cached ones, and those that an embedder makes of the rest."""
        texts = {text for record in records for text in texts_of(record)}
        found = {digest: cached[digest] for text in texts if (digest := text_hash(text)) in cached}
        left = sorted(text for text in texts if text_hash(text) not in found)
        embed = self._embedder(connection)
        if left and embed is not None:
            made = {text_hash(text): vector for text, vector in zip(left, embed(left), strict=True)}
            serving_cache(connection, self.layout.cache).add(made)
            found |= made
        rows = [vector_row(row, digest, vector) for digest, vector in found.items()]
        connection.run_many("vector_insert", rows)

    def use_embedder(self, embed: Embed) -> None:
        """Has the vectors made that the cache did not hold, now and later, as long as the store keeps its embedder."""
        with self._locked():
            self._catch_up()
            with super().transaction() as connection:
                self._embed = stored_values(connection)[SERVING[1]], embed
                self._embed_missing(connection)

    def _embedder(self, connection: Connection) -> Embed | None:
        """Returns what makes vectors; `None` if another process re-embedded the store: ours would go by a wrong name."""
        if self._embed is None or self._embed[0] != stored_values(connection)[SERVING[1]]:
            return None
        return self._embed[1]

    def _embed_missing(self, connection: Connection) -> None:
        embed = self._embedder(connection)
        if embed is None:
            return
        number = int(stored_values(connection)["embedder_number"])
        missing = {(row, text.decode()) for row, text in connection.execute(_MISSING, {"embedder": number})}
        made_by = {"embedder": number}
        for row, text in set(compared_texts(connection, SEAL)):
            known = connection.all("vector_known", {"project": row, "text_hash": text_hash(text), **made_by})
            if next(known, None) is None:
                missing.add((row, text))
        if not missing:
            return
        texts = sorted({text for _, text in missing})
        vectors = dict(zip(texts, embed(texts), strict=True))
        made = [(row, text_hash(text), vectors[text]) for row, text in missing]
        connection.run_many("vector_insert", [vector_row(*one) for one in made])
        serving_cache(connection, self.layout.cache).add({digest: vector for _, digest, vector in made})

    def _land(self, connection: Connection, before: Heads, newest: int, *, of_store: bool) -> None:
        """Writes what a transaction changed to the files, before it is committed."""
        grown = [(name, seq) for name, seq in heads(connection).items() if seq > before.get(name, 0)]
        if of_store:
            self._write_header(connection)
        lines = {name: [*records_of(connection, name, row_of(connection, name), before.get(name, 0))] for name, _ in grown}
        purged = {name for name, records in lines.items() if any(map(erases, records))}
        if purged:
            self._replace_vectors(connection)
        else:
            add_new(connection, self.layout.cache, after=newest)
        for name, records in lines.items():
            if name in purged:
                self._rewrite(connection, name)
                continue
            path, ends = self.layout.journal(name), records[-1].seq
            size = self.layout.append(path, b"".join(line_of(record, ends=ends) for record in records))
            self._landed.append((path, size, records[-1]))
        self._warn_if_large(connection)

    def _warn_if_large(self, connection: Connection) -> None:
        (newest,) = connection.execute("SELECT max(row) FROM memory").fetchone()
        if self._has_warned or (newest or 0) <= MOST_MEMORIES:
            return
        (count,) = connection.execute("SELECT count(*) FROM memory").fetchone()
        if count > MOST_MEMORIES:
            self._has_warned = True
            _LOG.warning(
                "%s holds %d memories; a file store is meant for at most %d: move it by `alma migrate`",
                self.path,
                count,
                MOST_MEMORIES,
            )

    def _rewrite(self, connection: Connection, name: str) -> None:
        records = [*records_of(connection, name, row_of(connection, name), 0)]
        path = self.layout.journal(name)
        self.layout.replace(path, b"".join(line_of(record, ends=record.seq) for record in records))
        if records:
            self.layout.note_newest(path, records[-1])
        self._lines[path.name] = len(records)

    def _write_header(self, connection: Connection) -> None:
        values = stored_values(connection)
        if values != self.layout.read_header():
            self.layout.write_header(values)

    def _replace_vectors(self, connection: Connection) -> None:
        with storage_errors(self.path):
            replace_all(connection, self.layout.cache)
