"""Ids of lessons, by which reflection and consolidation tell lessons from what was stated."""

OWN_VERSION = 8
"""Version of the UUIDs of lessons, which no other memory has."""


def is_lesson_id(memory_id: str) -> bool:
    """Returns True for an id that only lessons have."""
    return memory_id[14:15] == str(OWN_VERSION)
