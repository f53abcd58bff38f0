"""`Admin`: history, forgetting, export, backup, verification. `ALMA` has every method of it, too."""

import os
from collections.abc import Mapping, Sequence

from alma.extensions import extension
from alma.memory import quarantine
from alma.memory.admin import copies, figures, forgetting, maintaining, names, reindexing
from alma.memory.admin import history as past
from alma.memory.arguments import Progress
from alma.memory.operation import forwarded, operation
from alma.memory.room import Face
from alma.memory.transfer import export as exporting
from alma.memory.transfer import importing, intake
from alma.protocols import Embedder
from alma.types.kinds import VerdictSource
from alma.types.reports import (
    BackupReport,
    ForgetReport,
    MaintenanceReport,
    MigrationReport,
    MoveReport,
    ReindexReport,
    UndoReport,
    VerifyReport,
)


class Admin(Face):
    """Housekeeping of a project and its store, returned by `alma.admin`."""

    history = forwarded(past.history)

    @operation
    def compares_meanings(self) -> bool:
        """Returns whether the embedder separates meanings, so that tasks and strategies in other words count. One that was not measured is asked
        for the vectors of a few sentences, once a process. `EmbeddingError` if it fails."""
        return self._store.texts.scale(self._room.project) is not None

    undo = forwarded(past.undo)

    @operation
    def undo_preview(self, to: int, *, actor: str | None = None) -> UndoReport:
        """Returns what `undo` would do. Writes nothing."""
        return past.undo(self._room, to, actor=actor, dry_run=True)

    content_hash = forwarded(past.content_hash)
    forget = forwarded(forgetting.forget)

    @operation
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

    forget_user = forwarded(forgetting.forget_user)
    users = forwarded(forgetting.users)
    compose_names = forwarded(names.compose_names)
    redact_existing = forwarded(importing.redact_existing)

    @operation
    def maintain(self, dry_run: bool = False, *, due_only: bool = False) -> MaintenanceReport:
        """Archives the memories that the rules of `forgetting` select, reports their number by rule, and records the run. `undo` brings
        them back.

        By default only outcomes beyond the newest 10,000 of each agent are archived; their evidence stays. With `due_only` it does
        nothing within `maintenance: every` (a day, if nothing is set) of the last run; of two processes at once only one runs it.
        """
        return maintaining.maintain(self._room, dry_run=dry_run, due_only=due_only)

    compact = forwarded(forgetting.compact)

    @operation
    def backup(self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None) -> BackupReport:
        """Copies the whole store, all its projects, into a file, while other processes may write. The copy is one consistent view.

        The file appears whole or not at all, readable by its owner only, and opens as a store when it replaces `alma.db`.
        `ValidationError` for a file that exists, which `force` replaces, and for a database in use, which it does not. `progress` is
        called with the number of pages done and their total. `StorageError` if the target cannot be written; then nothing is left there.
        """
        return copies.backup(self._store, path, force=force, progress=progress)

    @operation
    def migrate(self, to: str, *, options: Mapping[str, object] | None = None, progress: Progress | None = None) -> MoveReport:
        """Copies the whole store, all its projects with their journals, to another database, and leaves this one as it is.

        `to` is a URL, `postgres://user:password@host/database`, or the path of a new SQLite file; `options` are the settings of the block of
        that store in a configuration. The copy has its name only when every content hash is that of the original. Interrupted, another call
        goes on where it stopped, unless the original has changed: then it begins again. What others write meanwhile is not in the copy.
        `ConflictError` if there is a store already, `ValidationError` for a file that exists.
        """
        return copies.move(self._store, to, options, progress=progress)

    list_memories = forwarded(figures.list_memories)
    quarantined = forwarded(quarantine.quarantined)
    release_quarantined = forwarded(quarantine.release_quarantined)
    export = forwarded(exporting.export)
    import_from = forwarded(importing.import_from)
    import_untrusted = forwarded(intake.import_untrusted)

    @operation
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

    get_stats = forwarded(figures.get_stats)

    timeline = forwarded(figures.timeline)

    @operation
    def reindex(
        self, embedder: str | Embedder, progress: Progress | None = None, *, embedding_dim: int | None = None
    ) -> ReindexReport:
        """Embeds the whole store, all its projects, with another embedder: a name or an `Embedder`. The old one serves until all is done.

        `progress` is called with the number of texts done and their total. After an interruption, also by `kill -9`, another call
        continues where it stopped. Other processes that have the store open get an `EmbedderMismatchError` afterwards, until they open it
        again.
        """
        return reindexing.reindex(self._store, embedder=embedder, dimension=embedding_dim, progress=progress)

    overview = forwarded(figures.overview)

    @operation
    def verify(self, *, rebuild: bool = False) -> VerifyReport:
        """Checks the store for damage: the file, every link of every journal, every row, vector and full-text entry. Reads only.

        With `rebuild`, damaged content that follows from an intact journal is rebuilt, in one transaction: rows, lists, full text,
        vectors. `rebuilt` names what was fixed, `problems` what was not: all else follows from the journal, so a damaged journal cannot
        be rebuilt. Other writers wait meanwhile.
        """
        return reindexing.verify(self._store, rebuild=rebuild)
