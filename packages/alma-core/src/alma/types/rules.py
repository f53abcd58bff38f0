"""Rules that follow from outcomes: their ids, and the small record of one that was used, rated or archived."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from alma.types.scope import agent_in

RULE = "rule"
"""Kind of the small records of rules. The key of a record is the rule's id."""

MOST_ANCHORS = 8
"""Limit on the outcomes that a record names."""

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


class RuleRecords:
    """Records of the rules of a project by their anchors, and by agent, side and wording, and their ids."""

    def __init__(self, records: Iterable[RuleRecord] = ()) -> None:
        self.by_anchor: dict[str, list[RuleRecord]] = {}
        self.by_way: dict[tuple[str, str, str], list[RuleRecord]] = {}
        self.ids = set[str]()
        for record in records:
            self.ids.add(record.id)
            for anchor in record.anchors:
                self.by_anchor.setdefault(anchor, []).append(record)
            if record.way is not None:
                self.by_way.setdefault((agent_in(record.owner), record.side, record.way), []).append(record)


def fault_in_rule(body: Mapping[str, Any]) -> str | None:
    """Returns why a body is that of no record of a rule; `None` if it is one."""
    owner, side, anchors, use = (body.get(name) for name in ("owner", "side", "anchors", "use"))
    if not isinstance(owner, str) or not owner or side not in (WORKS, FAILS):
        return "it is of no owner, or of neither side"
    if not isinstance(anchors, list) or not all(isinstance(one, str) for one in anchors):
        return "its anchors are no ids"
    if not isinstance(body.get("way", ""), str) or not isinstance(body.get("archived_at", 0), int):
        return "its wording or its time is none"
    counts = {} if use is None else use
    if not isinstance(counts, dict) or not all(
        name in NO_USE and isinstance(count, int | float) and count >= 0 for name, count in counts.items()
    ):
        return "its usage counts are none"
    return None


def is_rule_id(given: str) -> bool:
    """Returns True for an id of the form that `rule_id` gives, a UUID of version 5. A rule of a former version may have another."""
    return given[14:15] == "5"


def rule_id(owner: str, side: str, anchor: str) -> str:
    """Returns the id of a rule: the same for the same owner, side and first outcome, in every process and after an import."""
    digest = sha256(f"{owner}\0{side}\0{anchor}".encode()).digest()[:16]
    return str(UUID(bytes=digest, version=5))
