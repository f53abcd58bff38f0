"""The report of an ingestion."""

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from alma import AntiPattern, DomainKnowledge, Outcome, UserPreference
from alma_agents.storing import Shelf

MOST_KEPT = 1_000


@dataclass(slots=True)
class IngestReport:
    """Counts of one ingestion. `saved` counts the memories that are new, `known` those that were there, `replaced` those of an older content.

    The lists hold what is new, at most 1,000 of each. `skipped` says of each file that was left out why, and of a chat
    which of its lines.
    """

    files: int = 0
    unchanged: int = 0
    sessions: int = 0
    attempts: int = 0
    conversations: int = 0
    saved: int = 0
    known: int = 0
    replaced: int = 0
    gone: int = 0
    torn: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    domain_knowledge: list[DomainKnowledge] = field(default_factory=list)
    user_preferences: list[UserPreference] = field(default_factory=list)
    anti_patterns: list[AntiPattern] = field(default_factory=list)

    def take(self, shelf: Shelf) -> None:
        """Adds what a shelf has stored."""
        self.conversations += shelf.conversations
        self.saved += shelf.conversations + len(shelf.stored)
        self.known += shelf.known
        self.replaced += shelf.replaced
        self.skipped |= shelf.refused
        stored = shelf.stored
        self.outcomes += islice((one for one in stored if isinstance(one, Outcome)), MOST_KEPT)
        self.domain_knowledge += islice((one for one in stored if isinstance(one, DomainKnowledge)), MOST_KEPT)
        self.user_preferences += islice((one for one in stored if isinstance(one, UserPreference)), MOST_KEPT)
        self.anti_patterns += islice((one for one in stored if isinstance(one, AntiPattern)), MOST_KEPT)


def report_as_json(report: IngestReport) -> dict[str, Any]:
    """Returns the counts of a report as plain values."""
    counts = (
        "files",
        "unchanged",
        "sessions",
        "attempts",
        "conversations",
        "saved",
        "known",
        "replaced",
        "gone",
        "torn",
        "formats",
        "skipped",
    )
    lists = ("outcomes", "domain_knowledge", "user_preferences", "anti_patterns")
    found = {name: getattr(report, name) for name in counts} | {name: len(getattr(report, name)) for name in lists}
    return json.loads(json.dumps(found))  # type: ignore[no-any-return] # an object
