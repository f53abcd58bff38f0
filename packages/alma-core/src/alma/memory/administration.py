"""`Admin`: history, forgetting, export, backup, verification. `ALMA` has every method of it, too."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime

from alma.errors import ConfigurationError
from alma.extensions import extension
from alma.flags import checks_flags
from alma.forking import delays_forks
from alma.memory import quarantine
from alma.memory.admin import copies, figures, forgetting, maintaining, reindexing
from alma.memory.admin import history as past
from alma.memory.progress import Progress
from alma.memory.room import OpenStore, Room
from alma.memory.transfer import export as exporting
from alma.memory.transfer import importing, redacting_existing, untrusted
from alma.memory.transfer.export import Target
from alma.memory.watching import reports_operations
from alma.protocols import Embedder
from alma.text import quoted
from alma.types.exported import ExportReport, ImportReport
from alma.types.history import CompactReport, ForgetReport, HistoryEntry, UndoReport
from alma.types.kinds import VerdictSource
from alma.types.maintenance import MaintenanceReport
from alma.types.memories import AnyMemory
from alma.types.migrated import MigrationReport
from alma.types.overview import Overview
from alma.types.reports import BackupReport, MoveReport, RedactReport, ReindexReport, Stats, VerifyReport


@delays_forks
@reports_operations
@checks_flags
class Admin:
    """Housekeeping of a project and its store, returned by `alma.admin`."""

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

    def history(self, memory_id: str) -> list[HistoryEntry]:
        """Returns the effect of every call on a memory, oldest first, also for one that is archived or was undone.

        The first entry says who made it, in which episode and on which evidence. `MemoryNotFoundError` if there never was one, or it was
        purged.
        """
        return past.history(self._room, memory_id)

    def compares_meanings(self) -> bool:
        """Returns whether the embedder separates meanings, so that tasks and strategies in other words count. One that was not measured is asked
        for the vectors of a few sentences, once a process. `EmbeddingError` if it fails."""
        return self._store.texts.scale(self._room.project) is not None

    def undo(self, to: int, *, actor: str | None = None, dry_run: bool = False, expected_head: int | None = None) -> UndoReport:
        """Reverses all changes after journal record `to`; with `actor` only those of this actor.

        The undo is a call like any other: it has a record, and can be undone. `ConflictError` names the row if `actor` is given and
        another changed the same row since; then nothing is undone. Purged content does not come back; the report counts it. With
        `expected_head`, the `head` of a preview, anything written since is a `ConflictError` too, so that no more is undone than was
        shown.
        """
        return past.undo(self._room, to, actor=actor, dry_run=dry_run, expected_head=expected_head)

    def undo_preview(self, to: int, *, actor: str | None = None) -> UndoReport:
        """Returns what `undo` would do. Writes nothing."""
        return past.undo(self._room, to, actor=actor, dry_run=True)

    def content_hash(self) -> str:
        """Returns a hash of the project's content, archived memories included, as 64 hexadecimal digits: equal for equal content,
        whatever its history: an export that is imported into an empty project has the same."""
        return past.content_hash(self._room)

    def forget(
        self,
        agent: str | None = None,
        older_than_days: float | None = 90,
        below_confidence: float | None = 0.3,
        *,
        memory_ids: Sequence[str] | None = None,
        dry_run: bool = False,
        purge: bool = False,
    ) -> ForgetReport:
        """Archives stale memories, or the ones named: they leave every search at once, and `undo` brings them back.

        The policy selects outcomes by age (older than `older_than_days`), and heuristics, anti-patterns, knowledge and memories of the
        user's kinds by confidence (below `below_confidence`); `None` disables either; preferences are never selected. `memory_ids`
        selects exactly these instead. With `agent`, only that agent's own memories are affected. `purge` erases instead of archiving, see
        there.
        """
        return forgetting.forget(
            self._room,
            agent=agent,
            older_than_days=older_than_days,
            below_confidence=below_confidence,
            memory_ids=memory_ids,
            dry_run=dry_run,
            purge=purge,
        )

    def purge(self, memory_ids: Sequence[str], *, agent: str | None = None, dry_run: bool = False) -> ForgetReport:
        """Erases memories irrevocably, archived and undone ones too: rows, vectors, full text, and the payload of every journal record
        about them.

        The ended episode that such a memory comes from loses its record as well. The receipt lists every surface, and the remaining rows
        that still name a purged memory or contain its text. No undo brings it back. `compact` then removes the last bytes from the files.
        """
        return forgetting.forget(
            self._room,
            agent=agent,
            older_than_days=None,
            below_confidence=None,
            memory_ids=memory_ids,
            dry_run=dry_run,
            purge=True,
        )

    def forget_user(self, user_id: str, *, dry_run: bool = False) -> ForgetReport:
        """Erases all that was recorded for a user, irrevocably: memories of every agent, preferences, episodes, what was learned from them alone,
        and the payload of every journal record about them.

        The receipt lists every surface, as that of `purge` does. A rule of several users goes, too, if it would rest on the words of a single one.
        Counts that other users' outcomes made stay. `compact` then removes the last bytes from the files. A user of whom nothing is known is an
        empty report.
        """
        return forgetting.forget_user(self._room, user_id, dry_run=dry_run)

    def users(self) -> list[str]:
        """Returns the users for whom anything was recorded in the project, by name."""
        return forgetting.users(self._room)

    def redact_existing(self, *, dry_run: bool = False) -> RedactReport:
        """Replaces the secrets that this project holds from before it redacted, everywhere, in one transaction.

        With `dry_run` it only says what there is. All is stored anew without them, with the same ids, counts and rules, and embedded anew. The former
        records of the journal are erased, for a secret may be in any: history begins anew, and there is no undo of it. `compact` then removes the
        last bytes from the files. `ConflictError` if another process writes meanwhile: nothing was changed then.
        """
        return redacting_existing.redact_existing(self._room, dry_run=dry_run)

    def maintain(self, dry_run: bool = False, *, due_only: bool = False) -> MaintenanceReport:
        """Archives the memories that the rules of `forgetting` select, reports their number by rule, and records the run. `undo` brings
        them back.

        By default only outcomes beyond the newest 10,000 of each agent are archived; their evidence stays. With `due_only` it does
        nothing within `maintenance: every` (a day, if nothing is set) of the last run; of two processes at once only one runs it.
        """
        return maintaining.maintain(self._room, dry_run=dry_run, due_only=due_only)

    def compact(self) -> CompactReport:
        """Rewrites the files of the whole store without deleted content, and empties the write-ahead log. Other writers wait
        meanwhile."""
        return forgetting.compact(self._room)

    def backup(self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None) -> BackupReport:
        """Copies the whole store, all its projects, into a file, while other processes may write. The copy is one consistent view.

        The file appears whole or not at all, readable by its owner only, and opens as a store when it replaces `alma.db`.
        `ValidationError` for a file that exists, which `force` replaces, and for a database in use, which it does not. `progress` is
        called with the number of pages done and their total. `StorageError` if the target cannot be written; then nothing is left there.
        """
        return copies.backup(self._store, path, force=force, progress=progress)

    def migrate(self, to: str, *, options: Mapping[str, object] | None = None, progress: Progress | None = None) -> MoveReport:
        """Copies the whole store, all its projects with their journals, to another database, and leaves this one as it is.

        `to` is a URL, `postgres://user:password@host/database`, or the path of a new SQLite file; `options` are the settings of the block of
        that store in a configuration. The copy has its name only when every content hash is that of the original. Interrupted, another call
        goes on where it stopped, unless the original has changed: then it begins again. What others write meanwhile is not in the copy.
        `ConflictError` if there is a store already, `ValidationError` for a file that exists.
        """
        return copies.move(self._store, to, options, progress=progress)

    def list_memories(
        self,
        kind: str | None = None,
        agent: str | None = None,
        user_id: str | None = None,
        *,
        since: datetime | None = None,
        limit: int = 100,
        newest_first: bool = True,
    ) -> list[AnyMemory]:
        """Returns memories by the time they were made: all of the project, or those of one kind, of one agent, of one user, made at or
        after `since`.

        This is for browsing the store, whatever the agents' scopes; `retrieve` finds what matters for a task. Forgotten memories are not
        listed.
        """
        return figures.list_memories(
            self._room, kind=kind, agent=agent, user_id=user_id, since=since, limit=limit, newest_first=newest_first
        )

    def quarantined(self, limit: int = 100) -> list[AnyMemory]:
        """The memories in quarantine, those that came last first: suspicious texts in facts, and in outcomes that only their agent judged.

        They are kept, in no slice, until they are released. `metadata["flagged"]` says what is suspicious.
        """
        return quarantine.quarantined(self._room, limit=limit)

    def release_quarantined(self, memory_ids: Sequence[str]) -> list[str]:
        """Lets memories out of quarantine: they are found again, marked in prompts as what they are. Returns the ids of those that were in it."""
        return quarantine.release_quarantined(self._room, memory_ids)

    def export(
        self,
        target: Target,
        *,
        agent: str | None = None,
        user_id: str | None = None,
        vectors: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Writes the content of the project, or of one agent or one user in it, to a path or an open file: JSON lines, lossless, from one consistent
        snapshot.

        A file appears under its name when it is whole, and replaces an older one. `ValidationError` for a path that is a folder, a link
        or a device, or a file of a store, which would be lost. `vectors` adds the vectors, which saves an import with the same embedder
        the work of the model. `progress` is called with the number of memories done and their total.
        """
        return exporting.export(self._room, target, agent=agent, user_id=user_id, vectors=vectors, progress=progress)

    def import_from(self, source: Target, *, on_conflict: str = "error", progress: Progress | None = None) -> ImportReport:
        """Stores the content of an export in this project, in one transaction, after checking the whole file.

        `ValidationError` names the line of a file that is torn, foreign or unsound, and nothing is stored. Content that exists already is
        a `ConflictError`, skipped with `on_conflict="skip"`, or with "merge" compared: the newer version stays, and what one side purged
        goes, so the exports of clones result in the same content in any order. Evidence that both have is pooled: each outcome counts
        once. `progress` is called with the number of steps done and their total.
        """
        return importing.import_from(self._room, source, on_conflict=on_conflict, progress=progress)

    def import_untrusted(self, source: Target, *, dry_run: bool = False, progress: Progress | None = None) -> MigrationReport:
        """Stores the outcomes, facts, conversations and custom memories of an export that another person made, as the word of a file.

        Outcomes are judged by "imported", whatever the file says, so they are in no proven rule; facts have the source "imported". Rules
        are formed from the outcomes, suspicious texts go to quarantine, and metadata are kept under the key `imported`. Rules, usage,
        evidence, episodes, archived memories, what belongs to a user and what was purged here are left out and counted; so are passages
        that a caller gave beside a memory's own text. Memories that are here already are left alone, so the call can be repeated.
        Each 500 are one transaction. With `dry_run` nothing is stored. `ValidationError` for a file that is torn or unsound.
        """
        return untrusted.import_untrusted(self._room, source, dry_run=dry_run, progress=progress)

    def import_alma_memory(
        self,
        source: str | os.PathLike[str],
        *,
        project: str | None = None,
        verdict_source: str | VerdictSource = VerdictSource.IMPORTED,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MigrationReport:
        """Imports a SQLite database of the package alma-memory: outcomes, from which rules are formed again, stated rules, knowledge,
        preferences.

        `project` names the one to read if the file holds several; it is stored in this project. Agents and users keep their names. Rows
        that cannot be stored are skipped and reported with the reason. Rows that an earlier call stored are left alone, so that an
        interrupted import can be repeated. Each 500 rows are one transaction. `verdict_source` says who judged the outcomes: "imported",
        or "caller" if you trust the program that recorded them as your own. The file is not changed. `ValidationError` for a file that is
        no such database, `MissingDependencyError` without `alma-core[cli]`.
        """
        reader = extension("alma_cli.migrating", "cli", "the reader of databases of alma-memory is")
        report: MigrationReport = reader.import_alma_memory(
            self._room, source, project=project, verdict_source=verdict_source, dry_run=dry_run, progress=progress
        )
        return report

    def get_stats(self, agent: str | None = None) -> Stats:
        """Returns the content of the project, or of one agent in it, in numbers."""
        return figures.get_stats(self._room, agent=agent)

    def reindex(
        self, embedder: str | Embedder, progress: Progress | None = None, *, embedding_dim: int | None = None
    ) -> ReindexReport:
        """Embeds the whole store, all its projects, with another embedder: a name or an `Embedder`. The old one serves until all is done.

        `progress` is called with the number of texts done and their total. After an interruption, also by `kill -9`, another call
        continues where it stopped. Other processes that have the store open get an `EmbedderMismatchError` afterwards, until they open it
        again.
        """
        return reindexing.reindex(self._store, embedder=embedder, dimension=embedding_dim, progress=progress)

    def overview(self, *, top: int = 20, recent: int = 20, verify: bool = True) -> Overview:
        """Returns a summary of the project, as `alma report` shows it: growth by kind, the `top` memories by evidence, agents and what
        they share, the `recent` episodes and journal records, usage, and the state of the store (the slow part: `verify=False` leaves it
        out)."""
        return figures.overview(self._room, top=top, recent=recent, verify=verify)

    def verify(self, *, rebuild: bool = False) -> VerifyReport:
        """Checks the store for damage: the file, every link of every journal, every row, vector and full-text entry. Reads only.

        With `rebuild`, damaged content that follows from an intact journal is rebuilt, in one transaction: rows, lists, full text,
        vectors. `rebuilt` names what was fixed, `problems` what was not: all else follows from the journal, so a damaged journal cannot
        be rebuilt. Other writers wait meanwhile.
        """
        return reindexing.verify(self._store, rebuild=rebuild)
