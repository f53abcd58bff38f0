"""Episodes of which nothing is written yet."""

from typing import Protocol
from weakref import WeakValueDictionary

from alma.types.episodes import EpisodeRecord


class Opening(Protocol):
    """The beginning of one episode, which nobody else knows of."""

    @property
    def opened(self) -> EpisodeRecord:
        """The episode as it began."""


class Openings:
    """Beginnings that wait for what they are written with, as long as somebody holds their episode and no write of it fails. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: WeakValueDictionary[str, Opening] = WeakValueDictionary()

    def add(self, opening: Opening) -> None:
        """Lets the beginning of an episode wait."""
        self._waiting[opening.opened.id] = opening

    def drop(self, key: str) -> None:
        """Takes a beginning out: it is written."""
        self._waiting.pop(key, None)

    def of(self, project: str) -> dict[str, EpisodeRecord]:
        """The episodes of a project whose beginning waits, by id, in the order in which they began."""
        waiting = [reference() for reference in self._waiting.valuerefs()]
        return {each.opened.id: each.opened for each in waiting if each is not None and each.opened.project_id == project}
