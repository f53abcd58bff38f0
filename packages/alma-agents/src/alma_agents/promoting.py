"""Proven rules as a marked block for files that coding agents read as instructions."""

import re

from alma import ALMA, AntiPattern, Heuristic, MemorySlice

BEGIN = "<!-- alma:begin, written by `alma promote`; edits in this block are lost -->"
END = "<!-- alma:end -->"
_BLOCK = re.compile(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
_LEAST = 3


def promoted(alma: ALMA, text: str) -> str:
    """Returns the text with a block of the rules that hold: stated, or learned three times and mostly right; none that is flagged. Without such
    rules, without a block."""
    rules = [rule for rule in alma.list_memories(limit=1_000) if isinstance(rule, Heuristic | AntiPattern)]
    kept = [rule for rule in rules if rule.user_id is None and "flagged" not in rule.metadata and _holds(alma, rule)]
    rest = _BLOCK.sub("\n", text).rstrip("\n") if BEGIN in text else text
    if not kept:
        return f"{rest}\n" if rest and not rest.endswith("\n") else rest
    listed = sorted(kept, key=lambda rule: rule.text)
    notes = [_line(rule).replace("<!--", "‹!--").replace("-->", "--›") for rule in listed]
    block = "\n".join([BEGIN, "Rules learned from outcomes in this repository:", "", *(f"- {note}" for note in notes), END])
    return f"{rest.rstrip()}\n\n{block}\n".lstrip("\n")


def _holds(alma: ALMA, rule: Heuristic | AntiPattern) -> bool:
    if isinstance(rule, Heuristic):
        return rule.occurrence_count >= _LEAST and rule.success_rate >= 0.7
    return rule.occurrence_count >= _LEAST or not alma.outcomes_behind(rule.id, limit=1)


def _line(rule: Heuristic | AntiPattern) -> str:
    listed = {"heuristics": [rule]} if isinstance(rule, Heuristic) else {"anti_patterns": [rule]}
    (note,) = MemorySlice.model_validate(listed).notes()
    return " ".join(note.split())
