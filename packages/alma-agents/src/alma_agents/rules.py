"""Rules of a project that coding agents may be shown: of no user, not flagged, each once."""

from alma import ALMA, AntiPattern, Heuristic
from alma.text import normalised

Rule = AntiPattern | Heuristic


def rules_of(alma: ALMA, owner: str | None = None, *, most: int) -> list[Rule]:
    """Returns the newest rules of an agent, or of all, at most `most` of a kind. Of those that name one way and rest on the same outcomes, as
    merged clones have them, the oldest stands for the others."""
    listed = [rule for kind in ("anti_pattern", "heuristic") for rule in alma.list_memories(kind, owner, limit=most)]
    open_ones = [
        rule
        for rule in listed
        if isinstance(rule, AntiPattern | Heuristic) and rule.user_id is None and "flagged" not in rule.metadata
    ]
    oldest = {_ground(alma, rule): rule.id for rule in sorted(open_ones, key=lambda rule: rule.id, reverse=True)}
    return [rule for rule in open_ones if rule.id in set(oldest.values())]


def _ground(alma: ALMA, rule: Rule) -> tuple[str, str, str, str]:
    way = rule.strategy if isinstance(rule, Heuristic) else rule.pattern
    newest = alma.outcomes_behind(rule.id, limit=1)
    return rule.kind, rule.agent, normalised(way), newest[0].id if newest else rule.id
