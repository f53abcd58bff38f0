"""Guards against leaks: nothing that is stored may tell which session holds the evidence.

The ids of evidence sessions begin with "answer" in the public files, and turns with evidence carry a mark. A ranking that saw either would be a
ranking of labels. So whatever a store holds of a haystack is compared with what was said, and nothing else, before the first question.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from alma.types.memories import AnyMemory, Conversation
from alma_guard import placeholders_in
from benchmarks.longmemeval.questions import Session

MAY_DIFFER = frozenset({"id", "session_id", "turns", "held_at", "created_at", "updated_at"})
"""The fields in which stored sessions may differ from each other: what was said, when, what the store itself gives, and `name_of` their place."""

OWN_METADATA = frozenset({"flagged"})
"""Metadata that ALMA itself gives to what was said: that it reads like an instruction."""


class LeakError(Exception):
    """Something that is stored tells more of a session than what was said and when."""


def check_stored(stored: Sequence[AnyMemory], sessions: Sequence[Session], secrets: Iterable[str]) -> None:
    """Raises `LeakError` unless the stored memories, in the order of the sessions, hold what was said alone. `secrets` are the ids in the data."""
    forbidden = [secret for secret in secrets if secret]
    plain = [_plain(memory) for memory in stored]
    for place, (memory, session) in enumerate(zip(stored, sessions, strict=True)):
        if not isinstance(memory, Conversation) or not _is_what_was_said(memory, session):
            raise LeakError(f"session {place} is stored with other words than were said")
        if session.time is not None and memory.held_at != session.time:
            raise LeakError(f"session {place} is stored with another time")
        if others := [name for name in plain[0] if name not in MAY_DIFFER and plain[place][name] != plain[0][name]]:
            raise LeakError(f"sessions 0 and {place} differ in {', '.join(others)}, which may tell which holds the evidence")
        text = memory.model_dump_json(exclude={"id"})
        if found := [secret for secret in forbidden if secret in text]:
            raise LeakError(f"session {place} is stored with an id of the data: {found[0]}")
        if memory.session_id != name_of(place):
            raise LeakError(f"session {place} is stored with another session_id than that of its place")


def name_of(place: int) -> str:
    """Returns the name under which the session at a place of a haystack is stored. It says nothing of what the session holds."""
    return sha256(str(place).encode()).hexdigest()


def _plain(memory: AnyMemory) -> dict[str, Any]:
    given = {name: value for name, value in memory.metadata.items() if name not in OWN_METADATA}
    return {**memory.model_dump(mode="json"), "metadata": given}


def _is_what_was_said(memory: Conversation, session: Session) -> bool:
    """Returns True if each turn is stored as it was said, but for secrets, which ALMA replaces."""
    return len(memory.turns) == len(session.turns) and all(
        stored.speaker == said.speaker and (stored.text == said.text or _is_redacted(stored.text, said.text))
        for stored, said in zip(memory.turns, session.turns, strict=True)
    )


def _is_redacted(stored: str, said: str) -> bool:
    """Returns True if a text is another one with placeholders in the place of secrets, which hold no space."""
    pattern = re.escape(stored)
    for placeholder in placeholders_in(stored):
        pattern = pattern.replace(re.escape(placeholder), r"\S+")
    return re.fullmatch(pattern, said) is not None
