"""The opens of a store in one process: one that its threads share, and more of the same file, by other paths too."""

import os
import threading
from pathlib import Path
from random import Random
from typing import Any

from alma import ALMA

SHARED = "shop"
"""The project in which all writers work."""

SNAPSHOT_FROM = 8
"""So small a partition is kept in a snapshot here; the usual limit needs 20,000 passages."""

WINDOW = 40
"""So many outcomes of an agent `maintain` leaves."""


def opened(folder: Path, **given: Any) -> ALMA:
    """The shared project of the store in a folder, made by whoever comes first."""
    rules = {"outcome": {"window": WINDOW}}
    provider = "auto" if os.path.exists(folder / "alma.db") else "hash"  # `Path.exists` raises for a closed folder
    alma = ALMA.open(folder, project_id=SHARED, embedding_provider=provider, forgetting=rules, **given)
    _keep_snapshots(alma)
    return alma


def _keep_snapshots(alma: ALMA) -> None:
    index = alma._room.index
    index._make.keywords.update(codes_above=SNAPSHOT_FROM, wide_up_to=SNAPSHOT_FROM)


class Opens:
    """The opens of one process. The first is shared; each further one belongs to one thread."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.folder = folder
        self.main = opened(folder, **given)
        self.renewals = 0
        self._lock = threading.Lock()
        self._views: dict[tuple[int, str], ALMA] = {}

    def view(self, alma: ALMA, project: str) -> ALMA:
        """A project of an open store."""
        if project == SHARED:
            return alma
        key = (id(alma._store), project)
        if key not in self._views:
            self._views[key] = alma.for_project(project)
            _keep_snapshots(self._views[key])
        return self._views[key]

    def another(self, chance: Random) -> ALMA:
        """One more open of the same file: by its own path, by a link to its folder, or by a detour."""
        link = self.folder.with_name(f"{self.folder.name}-link")
        paths = [self.folder, self.folder / ".." / self.folder.name, link]
        return opened(chance.choice([path for path in paths if path.exists()]))

    def renew(self, seen: ALMA) -> None:
        """Opens the store anew, after another process re-embedded it; not again if another thread has just done so."""
        with self._lock:
            if seen is self.main:
                self._views.clear()
                self.renewals += 1
                self.main = opened(self.folder)
                seen.close()
