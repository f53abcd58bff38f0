"""Rules of a project that coding agents may be shown: of no user, not flagged, each once."""

from collections import Counter
from collections.abc import Iterator, Sequence

from alma import ALMA, AntiPattern, Heuristic
from alma.text import normalised

Rule = AntiPattern | Heuristic

FURTHEST = 10_000
"""The number of rules of a kind that are looked through."""


def rules_of(alma: ALMA, owner: str | None = None, *, most: int) -> list[Rule]:
    """Returns the newest rules of an agent, or of all, at most `most` of a kind. Of those that name one way and rest on the same outcomes, as
    merged clones have them, the oldest stands for the others."""
    open_ones = [rule for kind in ("anti_pattern", "heuristic") for rule in _newest(alma, kind, owner, most)]
    repeated = {named for named, count in Counter(map(_named, open_ones)).items() if count > 1}
    grounds = {rule.id: _ground(alma, rule) for rule in open_ones if _named(rule) in repeated}
    oldest = {grounds[rule_id]: rule_id for rule_id in sorted(grounds, reverse=True)}
    kept = set(oldest.values())
    return [rule for rule in open_ones if rule.id not in grounds or rule.id in kept]


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


def _named(rule: Rule) -> tuple[str, str, str]:
    return rule.kind, rule.agent, normalised(rule.strategy if isinstance(rule, Heuristic) else rule.pattern)


def _ground(alma: ALMA, rule: Rule) -> tuple[str, str, str, str]:
    newest = alma.outcomes_behind(rule.id, limit=1)
    return *_named(rule), newest[0].id if newest else rule.id
