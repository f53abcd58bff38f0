"""Contradictions that a language model found: a mark in the metadata of both memories, believed while both have the text that was judged.

Each mark names the other memory, and the words of its own that exclude it. One alone says nothing, so that nobody marks a memory of another.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from alma.types.memories import DomainKnowledge, UserPreference
from alma_knowledge.conflicts import Conflict

CONTRADICTS = "contradicts"


def add_mark(metadata: Mapping[str, Any], text: str, other_id: str, words: str) -> dict[str, Any]:
    """Returns the metadata of a memory with a mark more. Marks of a former text are left out."""
    found = metadata.get(CONTRADICTS)
    marks = {} if not isinstance(found, Mapping) or found.get("text") != _digest(text) else dict(found)
    return {**metadata, CONTRADICTS: {**marks, "text": _digest(text), other_id: words}}


def marked_words(metadata: Mapping[str, Any], text: str, other_id: str) -> str | None:
    """Returns the words by which a text excludes another memory; `None` if it is not marked so, or has changed since."""
    marks = metadata.get(CONTRADICTS)
    if not isinstance(marks, Mapping) or marks.get("text") != _digest(text):
        return None
    words = marks.get(other_id)
    return words if isinstance(words, str) else None


def find_marked(one: DomainKnowledge | UserPreference, other: DomainKnowledge | UserPreference) -> Conflict | None:
    """Returns the contradiction of two memories that both are marked with, `None` if there is none."""
    mine, theirs = marked_words(one.metadata, one.text, other.id), marked_words(other.metadata, other.text, one.id)
    return None if mine is None or theirs is None else Conflict("value", mine, theirs)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
