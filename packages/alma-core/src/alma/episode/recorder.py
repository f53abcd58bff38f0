"""Where an episode is written down."""

from datetime import datetime
from typing import Protocol

from alma.types.episodes import Ending, EpisodeRecord, Step


class Recorder(Protocol):
    """Keeps one episode. Each call lands whole or not at all, and durably when it returns. `ConflictError` if the episode is no longer open."""

    @property
    def is_written(self) -> bool:
        """Whether anything of the episode is written yet."""

    def now(self) -> datetime:
        """The present."""

    def held(self) -> EpisodeRecord | None:
        """What is stored of the episode by now, if it is open and held here; `None` if it ended, was suspended, or its beginning was undone."""

    def step(self, step: Step, *, is_lesson: bool) -> Step:
        """Keeps a step; a lesson also as a memory, whose id the returned step has. Its number is another one if steps were added elsewhere
        (by a forked child) or undone."""

    def end(self, ending: Ending) -> EpisodeRecord:
        """Keeps how it ended, counts what was used, makes the memory of how it went, all in one transaction."""

    def suspend(self) -> None:
        """Lets go of the episode, which stays open for whoever resumes it."""
