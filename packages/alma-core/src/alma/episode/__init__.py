"""The episode: one attempt at one task, and the steps of it that become memories."""

from alma.episode.arguments import Leaving, leaving
from alma.episode.episode import MOST_LESSONS, Episode, Lessons, Recorder, exposures

__all__ = ["MOST_LESSONS", "Episode", "Leaving", "Lessons", "Recorder", "exposures", "leaving"]
