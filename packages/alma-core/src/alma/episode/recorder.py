"""Protocol for the storage of an episode."""

from datetime import datetime
from typing import Protocol

from alma.types.episodes import Ending, EpisodeRecord, Step


class Recorder(Protocol):
    """Stores one episode. Each call is atomic, and durable when it returns. `ConflictError` if the episode is no longer open."""

    @property
    def is_written(self) -> bool:
        """True when any of the episode is stored."""

    def now(self) -> datetime:
        """Returns the current time."""

    def held(self) -> EpisodeRecord | None:
        """Returns what is stored of the episode if it is open and leased here. `None` if it ended, was suspended, or its beginning was
        undone."""

    def step(self, step: Step, *, is_lesson: bool) -> Step:
        """Stores a step; a lesson also as a memory, whose id the returned step has. The returned number differs if steps were added
        elsewhere (by a forked child) or undone."""

    def end(self, ending: Ending) -> EpisodeRecord:
        """Stores the ending, the usage counts and the memory of the outcome, all in one transaction."""

    def suspend(self) -> None:
        """Releases the episode. It stays open, and any process may resume it."""
