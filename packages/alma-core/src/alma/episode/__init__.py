"""The episode: one attempt at one task, and the steps of it that become memories."""

from alma.episode.endings import Leaving, leaving
from alma.episode.episode import Episode
from alma.episode.lessons import MOST_LESSONS, Lessons
from alma.episode.recorder import Recorder

__all__ = ["MOST_LESSONS", "Episode", "Leaving", "Lessons", "Recorder", "leaving"]
