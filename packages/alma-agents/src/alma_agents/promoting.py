"""Proven rules as a marked block for files that coding agents read as instructions, or as a skill of its own."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from alma import ALMA, AntiPattern, Heuristic
from alma.errors import ConfigurationError
from alma.types.rule_lines import note_on_tasks
from alma_agents.rules import Rule, rules_of
from alma_integration import checked_name, open_records

BEGIN = "<!-- alma:begin, written by `alma promote`; edits in this block are lost -->"
END = "<!-- alma:end -->"
SKILL = "SKILL.md"
LASTS = timedelta(days=90)
"""How long a learned rule is promoted after it was last confirmed."""

_BLOCK = re.compile(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
_LEAST = 3
MOST_RULES = 10_000
"""Newest rules of a kind that are looked at."""
_HEAD = """\
---
name: alma-rules
description: Rules that were learned from outcomes in this repository, with their counts. Read them before running, testing or changing code here.
metadata:
  written-by: alma promote
---
"""


def holding(alma: ALMA, agent: str | None = None) -> list[Rule]:
    """Returns the rules of an agent, or of all, that hold: stated, or learned three times, mostly right and confirmed in the last 90 days; none that
    is flagged."""
    now = open_records(alma, "agents.source").now()
    return [rule for rule in rules_of(alma, agent, most=MOST_RULES) if _holds(alma, rule, now)]


def promotable(alma: ALMA, agent: str | None, *, of_all: bool) -> list[Rule]:
    """Returns the rules that hold: of an agent, of all, or of the only agent that has some. `ConfigurationError` if several have and none is named,
    and for an agent of which nothing is stored."""
    found = holding(alma, None if agent is None else checked_name(agent, "agent"))
    if agent is None and not of_all and len(counts := counts_by_agent(found)) > 1:
        owners = ", ".join(f"{name} ({number})" for name, number in counts.items())
        raise ConfigurationError(f"several agents have rules that hold: {owners}; name one with --agent, or give --all-agents")
    if agent is not None and not found and not alma.list_memories(agent=agent, limit=1):
        raise ConfigurationError(f"nothing is stored of an agent {agent!r}; `alma stats` lists the agents")
    return found


def counts_by_agent(rules: Sequence[Rule]) -> dict[str, int]:
    """Returns how many of the rules each agent has, by name."""
    return dict(sorted(Counter(rule.agent for rule in rules).items()))


def promoted(alma: ALMA, text: str, kept: Sequence[Rule], *, as_skill: bool = False) -> str:
    """Returns the text with a block of these rules. Each has its counts and the day on which it ends. Without rules, without a block; a skill is
    then empty.

    The text depends on the rules alone, not on their order or on the day.
    """
    rest = _BLOCK.sub("\n", text).rstrip("\n") if BEGIN in text else text
    if as_skill and not rest.strip():
        rest = _HEAD
    if not kept:
        if as_skill and rest.strip() == _HEAD.strip():
            return ""
        return f"{rest}\n" if rest and not rest.endswith("\n") else rest
    lines = sorted(_line(alma, rule).replace("<!--", "‹!--").replace("-->", "--›") for rule in kept)
    block = "\n".join([BEGIN, "Rules learned from outcomes in this repository:", "", *(f"- {line}" for line in lines), END])
    return f"{rest.rstrip()}\n\n{block}\n".lstrip("\n")


def _is_stated(alma: ALMA, rule: Heuristic | AntiPattern) -> bool:
    return not alma.outcomes_behind(rule.id, limit=1)


def _confirmed(rule: Heuristic | AntiPattern) -> datetime:
    return rule.last_validated if isinstance(rule, Heuristic) else rule.last_seen


def _holds(alma: ALMA, rule: Heuristic | AntiPattern, now: datetime) -> bool:
    if isinstance(rule, AntiPattern) and _is_stated(alma, rule):
        return True
    is_right = rule.success_rate >= 0.7 if isinstance(rule, Heuristic) else True
    return rule.occurrence_count >= _LEAST and is_right and now < _confirmed(rule) + LASTS


def _line(alma: ALMA, rule: Heuristic | AntiPattern) -> str:
    line = " ".join(note_on_tasks(rule).split())  # without its age, which would change every day
    if _is_stated(alma, rule):
        return line
    return f"{line} (until {_confirmed(rule) + LASTS:%Y-%m-%d})"
