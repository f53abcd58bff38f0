"""Proven rules as a marked block for files that coding agents read as instructions, or as a skill of its own."""

import re
from datetime import datetime, timedelta

from alma import ALMA, AntiPattern, Heuristic, MemorySlice
from alma.integration import open_records
from alma_agents.rules import rules_of

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


def promoted(alma: ALMA, text: str, *, as_skill: bool = False) -> str:
    """Returns the text with a block of the rules that hold: stated, or learned three times, mostly right and confirmed in the last 90 days; none that
    is flagged. Each has its counts and the day on which it ends. Without such rules, without a block; a skill is then empty.

    The text depends on the rules alone, not on their order or on the day.
    """
    now = open_records(alma, "agents.source").now()
    kept = [rule for rule in rules_of(alma, most=MOST_RULES) if _holds(alma, rule, now)]
    rest = _BLOCK.sub("\n", text).rstrip("\n") if BEGIN in text else text
    if as_skill and not rest.strip():
        rest = _HEAD
    if not kept:
        if as_skill and rest.strip() == _HEAD.strip():
            return ""
        return f"{rest}\n" if rest and not rest.endswith("\n") else rest
    notes = sorted(_line(alma, rule).replace("<!--", "‹!--").replace("-->", "--›") for rule in kept)
    block = "\n".join([BEGIN, "Rules learned from outcomes in this repository:", "", *(f"- {note}" for note in notes), END])
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
    listed = {"heuristics": [rule]} if isinstance(rule, Heuristic) else {"anti_patterns": [rule]}
    (note,) = MemorySlice.model_validate(listed).notes()
    line = " ".join(note.split())
    if _is_stated(alma, rule):
        return line
    return f"{line} (until {_confirmed(rule) + LASTS:%Y-%m-%d})"
