"""Why a memory is suspicious, noted in its metadata."""

from collections.abc import Mapping
from typing import Any

from alma_guard import reason_to_doubt

FLAGGED = "flagged"
"""The key of the metadata with the reason to doubt a memory, one of `alma_guard.DOUBTS`: the first that holds."""


def flagged(metadata: Mapping[str, Any], *texts: object) -> dict[str, Any]:
    """Returns the metadata of a memory with such texts, with the reason why one of them is suspicious, where one is."""
    reason = reason_to_doubt("\n".join(text for text in texts if isinstance(text, str)))
    return dict(metadata) if reason is None else {**metadata, FLAGGED: reason}
