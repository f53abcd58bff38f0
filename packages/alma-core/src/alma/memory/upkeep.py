"""The half of `ALMA` that looks after what is kept: history, forgetting, taking it elsewhere, checking."""

import os
from collections.abc import Sequence
from datetime import datetime

from alma.flags import checks_flags
from alma.memory import backup as backing_up
from alma.memory import export as exporting
from alma.memory import forgetting, importing, listing, maintaining, overview, rebuilding, reindexing, stats
from alma.memory import history as past
from alma.memory.export import Target
from alma.memory.reindexing import Progress
from alma.memory.room import OpenStore, Room
from alma.protocols import Embedder
from alma.types.exported import ExportReport, ImportReport
from alma.types.history import CompactReport, ForgetReport, HistoryEntry, UndoReport
from alma.types.maintenance import MaintenanceReport
from alma.types.memories import AnyMemory
from alma.types.overview import Overview
from alma.types.reports import BackupReport, ReindexReport, Stats, VerifyReport


@checks_flags
class Upkeep:
    """What `ALMA` can do with the store as a whole. Not for itself: use `ALMA`."""

    def __init__(self, room: Room) -> None:
        self._opened = room

    @property
    def _room(self) -> Room:
        return self._opened.latest

    @property
    def _store(self) -> OpenStore:
        return self._room.store

    def history(self, memory_id: str) -> list[HistoryEntry]:
        """What every call did to a memory, oldest first, also of one that is archived or was undone.

        The first entry says who made it, in which episode and on which evidence. `MemoryNotFoundError` if there never was one, or it was purged.
        """
        return past.history(self._room, memory_id)

    def undo(self, to: int, *, actor: str | None = None, dry_run: bool = False, expected_head: int | None = None) -> UndoReport:
        """Takes back everything that was done after journal record `to`; with `actor` only what that one did.

        The undoing is a call like any other: it has a record, and can be undone. `ConflictError` names the row if `actor` is given and another
        touched the same since; then nothing is undone. What was purged does not come back; the report counts it. With `expected_head`, the
        `head` of a preview, it is a `ConflictError` too if anything was written since: so no more is undone than was shown.
        """
        return past.undo(self._room, to=to, actor=actor, dry_run=dry_run, expected_head=expected_head)

    def undo_preview(self, to: int, *, actor: str | None = None) -> UndoReport:
        """What `undo` would do. Writes nothing."""
        return past.undo(self._room, to=to, actor=actor, dry_run=True)

    def content_hash(self) -> str:
        """What the project holds, archived memories too, as 64 hexadecimal digits: equal for equal content, whatever its history."""
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
        """Archives what is stale, or the memories that are named: gone from every search at once, brought back by `undo`.

        By policy, outcomes go by age (what happened longer ago than `older_than_days`), heuristics, anti-patterns, knowledge and memories of
        the user's kinds by confidence (below `below_confidence`); `None` switches either off; preferences never go. `memory_ids` takes exactly
        these instead. With `agent` only that agent's own memories are touched. `purge` erases instead of archiving, see there.
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
        """Erases memories for good, archived and undone ones too: rows, vectors, full text, and the payload of every journal record about them.

        The ended episode that such a memory comes from loses its record as well. The receipt lists every surface, and the rows of others that
        still name a purged memory or hold a text of it. No undo brings it back. `compact` then removes the last bytes from the files.
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

    def maintain(self, dry_run: bool = False, *, due_only: bool = False) -> MaintenanceReport:
        """Archives what the rules of `forgetting` have go, says how much by which rule, and notes that it ran. `undo` brings it all back.

        By default only outcomes beyond the newest 10,000 of each agent go; their evidence stays. With `due_only` it does nothing within
        `maintenance: every` (a day, if nothing is set) of the last run; of two processes at once one does it.
        """
        return maintaining.maintain(self._room, dry_run=dry_run, due_only=due_only)

    def compact(self) -> CompactReport:
        """Rewrites the files of the whole store without what was deleted, and empties the write-ahead log. Others wait with writes meanwhile."""
        return forgetting.compact(self._room)

    def backup(self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None) -> BackupReport:
        """Copies the whole store, all its projects, into a file while others go on writing. The copy is one consistent view.

        The file appears whole or not at all, for its owner alone, and opens as a store when it is put in the place of `alma.db`. `ValidationError`
        for a file that exists, which `force` replaces, and for a database in use, which it does not. `progress` receives how many pages are done,
        of how many. `StorageError` if the target cannot be written; then nothing is left there.
        """
        return backing_up.backup(self._store, path, force=force, progress=progress)

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
        """Memories by the time they were made: all of the project, or those of one kind, of one agent, of one user, made `since` then.

        This is for going through what is kept, by no agent's scope; `retrieve` finds what matters for a task. What is forgotten is not listed.
        """
        return listing.list_memories(
            self._room, kind=kind, agent=agent, user_id=user_id, since=since, limit=limit, newest_first=newest_first
        )

    def export(
        self, target: Target, *, agent: str | None = None, vectors: bool = False, progress: Progress | None = None
    ) -> ExportReport:
        """Writes all that the project holds, or one agent in it, to a path or an open file: JSON lines, lossless, all of one moment.

        A file appears under its name when it is whole, in place of an older one. `ValidationError` for a path that is a folder, a link or a device,
        or a file of a store: that would be lost. `vectors` adds the vectors, which spares whoever imports it
        with the same embedder the work of the model. `progress` is told how many memories are done, of how many.
        """
        return exporting.export(self._room, target, agent=agent, vectors=vectors, progress=progress)

    def import_from(self, source: Target, *, on_conflict: str = "error", progress: Progress | None = None) -> ImportReport:
        """Stores all that an export holds in this project, in one transaction, after looking through the whole of it.

        `ValidationError` names the line of a file that is torn, foreign or not sound, and nothing is stored. What is there already is a
        `ConflictError`, or left out with `on_conflict="skip"`. `progress` is told how many steps are done, of how many.
        """
        return importing.import_from(self._room, source, on_conflict=on_conflict, progress=progress)

    def get_stats(self, agent: str | None = None) -> Stats:
        """How much the project holds, or how much one agent owns in it."""
        return stats.get_stats(self._room, agent=agent)

    def reindex(
        self, embedder: str | Embedder, progress: Progress | None = None, *, embedding_dim: int | None = None
    ) -> ReindexReport:
        """Embeds the whole store, all its projects, with another embedder: a name or an `Embedder`. The old one serves until all is done.

        `progress` is told how many texts are done and how many there are. What was interrupted, also by `kill -9`, goes on where it stopped when
        it is called again. Other processes that have the store open get an `EmbedderMismatchError` afterwards, until they open it again.
        """
        return reindexing.reindex(self._store, embedder=embedder, dimension=embedding_dim, progress=progress)

    def overview(self, *, top: int = 20, recent: int = 20, verify: bool = True) -> Overview:
        """The project at a glance, as `alma report` shows it: growth by kind, the `top` memories by evidence, agents and what they share, the
        `recent` episodes and journal records, what was used, and the state of the store (the slow part: `verify=False` leaves it out)."""
        return overview.overview(self._room, top=top, recent=recent, verify=verify)

    def verify(self, *, rebuild: bool = False) -> VerifyReport:
        """Looks for damage in the store: the file, every link of every journal, every row, vector and full-text entry. Reads only.

        With `rebuild`, what is damaged and follows from a whole journal is made anew, in one transaction: rows, lists, full text, vectors. `rebuilt`
        names what was mended, `problems` what was not: a damaged journal is the damage of what all else follows from. Others wait with writes
        meanwhile.
        """
        return rebuilding.verify(self._store, rebuild=rebuild)
