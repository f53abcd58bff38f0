"""Rules of a project that coding agents may be shown: of no user, not flagged."""

from collections.abc import Iterator, Sequence

from alma import ALMA, AntiPattern, Heuristic

Rule = AntiPattern | Heuristic

FURTHEST = 10_000
"""The number of rules of a kind that are looked through."""


def rules_of(alma: ALMA, owner: str | None = None, *, most: int) -> list[Rule]:
    """Returns the newest rules of an agent, or of all, at most `most` of a kind."""
    return [rule for kind in ("anti_pattern", "heuristic") for rule in _newest(alma, kind, owner, most)]


def _newest(alma: ALMA, kind: str, owner: str | None, most: int) -> list[Rule]:
    """Returns the newest rules of a kind that may be shown; looks further where others are among them."""
    limit = most
    while True:
        listed = alma.list_memories(kind, owner, limit=limit)
        found = list(_that_may_be_shown(listed))
        if len(found) >= most or len(listed) < limit or limit == FURTHEST:
            return found[:most]
        limit = min(4 * limit, FURTHEST)


def _that_may_be_shown(listed: Sequence[object]) -> Iterator[Rule]:
    for rule in listed:
        if isinstance(rule, AntiPattern | Heuristic) and rule.user_id is None and "flagged" not in rule.metadata:
            yield rule
