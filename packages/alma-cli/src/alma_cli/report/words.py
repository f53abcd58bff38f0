"""Formats figures, times and names as text."""

from datetime import date, datetime

from alma.text import one_line, shortened
from alma.types.memories import AntiPattern, AnyMemory, Heuristic
from alma.types.provenance import provenance_of

_PLURALS = {"memory": "memories", "anti_pattern": "anti-patterns", "domain_knowledge": "facts", "user_preference": "preferences"}
_KINDS = {"anti_pattern": "anti-pattern", "domain_knowledge": "fact", "user_preference": "preference"}
_TONES = {
    **dict.fromkeys(("success", "works", "seems to work"), "good"),
    **dict.fromkeys(("failure", "fails", "seems to fail"), "bad"),
    "partial": "warn",
}


def stored(text: str, limit: int = 320) -> str:
    """Returns a stored text as it is shown: one line of printable characters, none of which changes the direction of writing."""
    return shortened(one_line(text), limit)


def many(count: int, one: str) -> str:
    """Returns a number and its noun: "1 memory", "2 memories"."""
    return f"{count:,} {one if count == 1 else _PLURALS.get(one, one + 's')}"


def kind(name: str) -> str:
    """Returns the name of a kind in words."""
    return _KINDS.get(name) or spaced(name)


def kinds(name: str) -> str:
    """Returns the name of a kind in words, in the plural."""
    return _PLURALS.get(name) or f"{spaced(name)}s"


def spaced(name: str) -> str:
    """Returns a name such as `meeting_note` as words."""
    return stored(name.replace("_", " "), 40)


def tone(verdict: str) -> str:
    """Returns the class of the style sheet for a verdict: good, bad, warn or soft."""
    return _TONES.get(verdict, "soft")


def size(count: int) -> str:
    """Returns a number of bytes for a person."""
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def origin(memory: AnyMemory) -> str:
    """Returns where a memory comes from, as far as it says so itself; "" if it does not."""
    return stored(str(provenance_of(memory)))


def record(memory: Heuristic | AntiPattern) -> str:
    """Returns what became of a rule, in the words of a prompt."""
    return stored(memory.record(None))


def moment(at: datetime) -> str:
    """Returns a time to the minute, in UTC."""
    return f"{at.day} {at:%b %Y, %H:%M}"


def day(at: date) -> str:
    """Returns a date."""
    return f"{at.day} {at:%b %Y}"


def percent(part: int, whole: int) -> str:
    """Returns a percentage, "–" if the whole is 0."""
    return f"{100 * part / whole:.0f} %" if whole else "–"
