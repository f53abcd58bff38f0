"""The playbook of an agent: its lessons and rules as lines for a prompt, within a number of tokens."""

from alma import ALMA
from alma.memory.alma import opened_room
from alma.memory.arguments import checked_count, checked_name
from alma.text import estimate_tokens
from alma.types.memories import AntiPattern, Heuristic
from alma.types.provenance import FLAGGED
from alma.types.rule_lines import note_on_tasks
from alma_knowledge.reflection.results import CANDIDATE, LIKELY, RETIRED
from alma_knowledge.reflection.runs import read_kinds
from alma_knowledge.reflection.storing import read_kept

MOST_TOKENS = 1_000_000
MOST_RULES = 1_000
"""Newest rules of a kind that are looked at."""

STATED = "stated"
_HEADS = {
    "do": "What worked:",
    "avoid": "What failed:",
    CANDIDATE: "Lessons of past runs, not confirmed yet:",
    STATED: "Stated, without a record of successes:",
}


def playbook(alma: ALMA, *, agent: str, max_tokens: int) -> str:
    """Returns the lines of an agent's rules and lessons, in sections, the best first, within `max_tokens`; "" where there are none. Suspicious
    rules are left out."""
    room, owner = opened_room(alma), checked_name(agent, "agent")
    most = checked_count(max_tokens, "max_tokens", largest=MOST_TOKENS)
    lessons = {each.lesson.id: each.lesson for each in read_kept(room, owner, read_kinds(room, owner, None)[1]).values()}
    ranked = []
    for kind in ("heuristic", "anti_pattern"):
        for rule in alma.list_memories(agent=owner, kind=kind, limit=MOST_RULES):
            if not isinstance(rule, Heuristic | AntiPattern):
                continue
            if rule.agent == owner and rule.user_id is None and FLAGGED not in rule.metadata:
                lesson = lessons.get(rule.id)
                status = lesson.status if lesson else LIKELY if rule.trials else STATED
                section = status if status != LIKELY else "do" if kind == "heuristic" else "avoid"
                lift = lesson.evidence.successes / lesson.evidence.trials if lesson and lesson.evidence.trials else 0.0
                if status != RETIRED:
                    ranked.append((status != LIKELY, -rule.confidence, -lift, rule.id, section, f"- {note_on_tasks(rule)}"))
    return _fit([(section, line) for *_, section, line in sorted(ranked)], most)


def _fit(lines: list[tuple[str, str]], most: int) -> str:
    """Returns as many lines as fit, each under the head of its section. A line that does not fit is left out whole."""
    kept: dict[str, list[str]] = {section: [] for section in _HEADS}
    for section, line in lines:
        kept[section].append(line)
        if estimate_tokens(_join(kept)) > most:
            kept[section].pop()
    return _join(kept)


def _join(kept: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([_HEADS[section], *lines]) for section, lines in kept.items() if lines)
