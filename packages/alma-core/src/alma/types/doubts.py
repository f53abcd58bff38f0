"""Which memories to doubt: suspicious ones, noted in their metadata, and those for which no one vouches."""

from collections.abc import Mapping
from typing import Any

from alma.text import words
from alma_guard import reason_to_doubt

FLAGGED = "flagged"
"""The key of the metadata with the reason to doubt a memory, one of `alma_guard.DOUBTS`: the first that holds."""

_OWN_WORD = frozenset(
    ("agent", "assistant", "assumed", "extracted", "generated", "guessed", "import", "imported", "inferred", "llm", "model")
)
"""Words of a `source` for which no person, program or document vouches."""


def is_vouched_for(source: str, metadata: Mapping[str, Any]) -> bool:
    """Returns True if a fact or preference has a source beside the agent's own word, an import or a guess, and reads like no instruction."""
    return _OWN_WORD.isdisjoint(words(source.replace("_", " "))) and not metadata.get(FLAGGED)


def flagged(metadata: Mapping[str, Any], *texts: object) -> dict[str, Any]:
    """Returns the metadata of a memory with such texts, with the reason why one of them is suspicious, where one is."""
    reason = reason_to_doubt("\n".join(text for text in texts if isinstance(text, str)))
    return dict(metadata) if reason is None else {**metadata, FLAGGED: reason}
