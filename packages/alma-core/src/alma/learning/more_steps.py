"""Whether a strategy does all that another does, and more: `vitest -u` alone, and "`vitest -u` after looking at the diff"."""

import re

from alma.learning.shell import commands_in
from alma.learning.stems import stem
from alma.learning.task_names import ON_THINGS
from alma.learning.wording import wording
from alma.text import spelt

_STEP_BEFORE = re.compile(r"(?:[,;&]|\b(?:after|and|before|then))\s*$", re.IGNORECASE)
_REASON_AFTER = re.compile(r"\W*(?:as|because|for|in order|on|since|so|to|when|which)\b", re.IGNORECASE)
SQL = re.compile(
    r"(?:ALTER TABLE|CREATE (?:UNIQUE )?(?:INDEX|TABLE|VIEW)|DELETE FROM|DROP (?:COLUMN|INDEX|TABLE|VIEW)|(?:INSERT|MERGE) INTO"
    r"|SELECT\b.+\bFROM|TRUNCATE TABLE|UPDATE \S+ SET|WITH \S+ AS)\b",
    re.DOTALL,
)
_TICKS = re.compile(r"[`\s]+")


def does_more(one: str, other: str) -> bool:
    """Returns True if a text lists all steps of another, each behind a semicolon, and more, or does more than to run the code that the other is.

    What only says why the code is run, or on what, is no more: "run `npm ci` to install the packages".
    """
    return _has_more_steps(one, other) or _adds_to_run(one, other)


def _has_more_steps(one: str, other: str) -> bool:
    if ";" not in one:
        return False
    mine, theirs = ([spelt(step) for step in text.split(";") if step.strip()] for text in (one, other))
    return len(mine) > len(theirs) > 0 and {*theirs} <= {*mine}


def _adds_to_run(one: str, other: str) -> bool:
    text, run = (_TICKS.sub(" ", each).strip() for each in (one, other))
    place = text.lower().find(run.lower()) if run and len(run) < len(text) else -1
    if place < 0 or not _is_run(run):
        return False
    before, after = text[:place], text[place + len(run) :]
    if _is_part_of_word(before[-1:]) or _is_part_of_word(after[:1]):
        return False
    said = wording(run).all | {stem(word) for word in re.findall(r"\w+", run)}
    adds_before = _STEP_BEFORE.search(before) is not None and not wording(before).telling <= said
    return adds_before or (_REASON_AFTER.match(after) is None and not wording(after).telling <= said)


def _is_part_of_word(sign: str) -> bool:
    return sign.isalnum() or (sign != "" and sign in "-_/.")


def _is_run(text: str) -> bool:
    """Returns True if a text is a command or SQL. Calls are compared whole."""
    found = commands_in(text)
    return found.is_certain or not found.programs.isdisjoint(ON_THINGS) or SQL.match(text) is not None
