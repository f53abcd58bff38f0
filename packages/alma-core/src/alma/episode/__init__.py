"""The episode: one attempt at one task, and the steps of it that become memories."""

from alma.episode.endings import Leaving, leaving
from alma.episode.episode import Episode, Recorder
from alma.episode.lessons import MOST_LESSONS, Lessons

__all__ = ["MOST_LESSONS", "Episode", "Leaving", "Lessons", "Recorder", "leaving"]
