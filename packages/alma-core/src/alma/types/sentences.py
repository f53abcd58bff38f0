"""Parts of a memory's line in a prompt: stored text on one line, counts and ages in words."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from alma.text import one_line, shortened
from alma.types.kinds import Verdict

ITEM_CHARS = 600
"""Longest text of an item that is shown."""

ATTEMPT = "of_same_attempt"
"""Metadata key under which a recalled outcome lists the other outcomes of its attempt. Set by `retrieve`, never stored."""

HITS = "hits"
"""The metadata key under which a recalled conversation lists what of it is nearest to the question. Set by `retrieve`, never stored."""

MOST_HITS = 3
"""Turns that are listed there."""

CITED = "cited_in_attempts"
"""Key of a heuristic's metadata in a slice: how often it was cited, and the share of success of those attempts."""

EXACT = "successes"
"""Key of a learned rule's metadata: its successes, where partial ones leave a half that the counts of a memory, whole numbers, do not hold."""

_WELL = 0.75
_HALF = 0.5

VERDICTS = {
    Verdict.SUCCESS: "Succeeded",
    Verdict.FAILURE: "Failed",
    Verdict.PARTIAL: "Partly done",
    Verdict.UNVERIFIED: "Unverified",
}

VERDICTS_OF_STEPS = {
    Verdict.SUCCESS: "A step worked",
    Verdict.FAILURE: "A step failed",
    Verdict.PARTIAL: "A step was partly done",
    Verdict.UNVERIFIED: "A step is unverified",
}
"""The verdict on a step says nothing of the whole attempt."""


def brief(text: str) -> str:
    """Returns stored text in the form for a note: on one line, at most `ITEM_CHARS` long."""
    return shortened(one_line(text), ITEM_CHARS)


def sentence(text: str) -> str:
    """Returns stored text as a sentence of a note, with a full stop unless it ends with one: `docker build .`, never `docker build ..`."""
    said = brief(text)
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."


def ended(text: str) -> str:
    """Returns a part of a note with a full stop, unless it ends a sentence itself: `docker build .`, never `docker build ..`."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def labelled(label: str, text: str) -> str:
    """Returns stored text after a label, which is not said twice: "Error: lock timeout" also of the text "ERROR: lock timeout"."""
    begun = f"{label.partition(' ')[0]}: "
    return f"{label}: {brief(text[len(begun) :] if text.lower().startswith(begun.lower()) else text)}"


def ends_with(way: str, reason: str | None) -> bool:
    """Returns True when a way already gives the reason, after a colon, so that a note does not repeat it."""
    return bool(reason) and one_line(way).endswith(f": {one_line(reason or '')}")


def worked(successes: int, trials: int, last: datetime, now: datetime | None, metadata: Mapping[str, Any]) -> str:
    """Returns the record of a strategy: "worked 8 of 10 times on 5 tasks, last 3 days ago; likely"."""
    if not trials:
        return f"no record yet{_cited(metadata)}"
    return f"worked {counted(exact(successes, trials, metadata))} of {_times(trials)}{_on_tasks(metadata)}{_last(last, now)}{_standing(metadata)}"


def counted(count: float) -> str:
    """Returns a count, whole or with one or two digits behind the point."""
    return f"{count:.0f}" if count == round(count) else f"{count:.2f}".rstrip("0")


def exact(successes: int, trials: int, metadata: Mapping[str, Any]) -> float:
    """Returns the successes of a learned rule with their half, which its metadata has; the count itself where that is of other trials."""
    found = metadata.get(EXACT) if metadata.get("learned") else None
    if not isinstance(found, list) or len(found) != 2 or found[1] != trials or not isinstance(found[0], int | float):
        return successes
    return found[0] if abs(found[0] - successes) <= _HALF else successes


def _cited(metadata: Mapping[str, Any]) -> str:
    """Returns how often a heuristic without a trial of its own was cited, and how that went."""
    found = metadata.get(CITED)
    times, share = (found.get("times"), found.get("share")) if isinstance(found, dict) else (None, None)
    if not isinstance(times, int) or not isinstance(share, int | float):
        return ""
    went = "that went well" if share >= _WELL else "that went badly" if share <= 1 - _WELL else "with mixed results"
    return f" of its own; cited {_times(times)}, in attempts {went}"


def failed(failures: int, successes: int, last: datetime, now: datetime | None, metadata: Mapping[str, Any]) -> str:
    """Returns the record of an anti-pattern: failures among trials where it was learned, else how often it was seen."""
    if not metadata.get("learned"):
        return f"seen {_times(failures)}{_last(last, now)}"
    trials = failures + successes
    times = counted(trials - exact(successes, trials, metadata))
    return f"failed {times} of {_times(trials)}{_on_tasks(metadata)}{_last(last, now)}{_standing(metadata)}"


def of_attempt(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yields what failed in an attempt and what worked afterwards, where other outcomes of it record that."""
    found = metadata.get(ATTEMPT)
    if isinstance(found, dict):
        for name, label in (("failed", "Failed on the way"), ("worked", "Then worked")):
            listed = found.get(name)
            if isinstance(listed, list) and listed:
                yield f"{label}: {brief('; '.join(map(str, listed)))}"


def hits_of(metadata: Mapping[str, Any]) -> str:
    """Returns what of a conversation is nearest to the question, "" where that is not known."""
    found = metadata.get(HITS)
    return " … ".join(brief(str(hit)) for hit in found) if isinstance(found, list) else ""


def value_of(value: object) -> str:
    """Returns the value of a field of a user's kind as text."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def age(moment: datetime, now: datetime) -> str:
    """Returns the time since `moment` in words."""
    hours = (now - moment).total_seconds() / 3600
    days = int(hours // 24)
    if hours < 1:
        return "just now"
    for amount, unit in ((days // 365, "year"), (days // 61 and days // 30, "month"), (days, "day"), (int(hours), "hour")):
        if amount:
            return f"{amount} {unit}{'' if amount == 1 else 's'} ago"
    return "just now"


def _last(moment: datetime, now: datetime | None) -> str:
    return "" if now is None else f", last {age(moment, now)}"


def _on_tasks(metadata: Mapping[str, Any]) -> str:
    """Returns the number of tasks that a rule was learned from, where there were several."""
    tasks = metadata.get("tasks")
    return f" on {tasks} tasks" if isinstance(tasks, int) and tasks > 1 else ""


def _standing(metadata: Mapping[str, Any]) -> str:
    said = metadata.get("said") or metadata.get("status")
    return f"; {brief(str(said))}" if said else ""


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"
