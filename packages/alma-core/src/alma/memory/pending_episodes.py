"""Episodes of which nothing is stored yet."""

from typing import Protocol
from weakref import WeakValueDictionary

from alma.types.episodes import EpisodeRecord


class Opening(Protocol):
    """The beginning of one episode, known only to this process."""

    @property
    def opened(self) -> EpisodeRecord:
        """The episode as it began."""


class Openings:
    """Unwritten beginnings, each kept while its episode is referenced and no write of it fails. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: WeakValueDictionary[str, Opening] = WeakValueDictionary()

    def add(self, opening: Opening) -> None:
        """Adds the beginning of an episode."""
        self._waiting[opening.opened.id] = opening

    def drop(self, key: str) -> None:
        """Removes a beginning that is written."""
        self._waiting.pop(key, None)

    def of(self, project: str) -> dict[str, EpisodeRecord]:
        """Returns the episodes of a project with an unwritten beginning, by id, in the order in which they began."""
        waiting = [reference() for reference in self._waiting.valuerefs()]
        return {each.opened.id: each.opened for each in waiting if each is not None and each.opened.project_id == project}
