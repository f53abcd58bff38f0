"""Rules that follow from outcomes: their ids, and the small record of one that was used, rated or archived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

RULE = "rule"
"""Kind of the small records of rules. The key of a record is the rule's id."""

WORKS, FAILS = "works", "fails"
"""Sides of rules: heuristics and anti-patterns."""

NO_USE: Mapping[str, float] = {
    **dict.fromkeys(("used", "ignored", "thumbs_up", "thumbs_down"), 0),
    **dict.fromkeys(("credited_successes", "credited_trials"), 0.0),
}


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What is kept of a rule: whose it is, its side, some outcomes that it rests on, its words, and what became of it.

    The rule is the group of outcomes that now holds most of the `anchors`. `version` is that of the stored record, 0 if none is stored.
    """

    id: str
    version: int
    owner: str
    side: str
    anchors: tuple[str, ...]
    way: str | None = None
    archived_at: int | None = None
    use: Mapping[str, float] = field(default_factory=lambda: dict(NO_USE))

    @classmethod
    def read(cls, key: str, version: int, body: Mapping[str, Any]) -> "RuleRecord":
        """Returns the record of a stored body."""
        return cls(
            id=key,
            version=version,
            owner=str(body.get("owner", "")),
            side=str(body.get("side", "")),
            anchors=tuple(body.get("anchors", ())),
            way=body.get("way"),
            archived_at=body.get("archived_at"),
            use={**NO_USE, **body.get("use", {})},
        )

    def body(self) -> dict[str, Any]:
        """Returns the record as it is stored."""
        use = {name: count for name, count in self.use.items() if count}
        said = {"way": self.way, "archived_at": self.archived_at, "use": use or None}
        return {
            "owner": self.owner,
            "side": self.side,
            "anchors": list(self.anchors),
            **{name: value for name, value in said.items() if value is not None},
        }


def rule_id(owner: str, side: str, anchor: str) -> str:
    """Returns the id of a rule: the same for the same owner, side and first outcome, in every process and after an import."""
    digest = sha256(f"{owner}\0{side}\0{anchor}".encode()).digest()[:16]
    return str(UUID(bytes=digest, version=5))
