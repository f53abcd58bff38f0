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

_WELL = 0.75

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


AS_A_STEP = " as a step"
"""Words for a way that was tried as a step of attempts, not as the strategy of whole ones."""


def brief(text: str) -> str:
    """Returns stored text in the form for a note: on one line, at most `ITEM_CHARS` long."""
    return shortened(one_line(text), ITEM_CHARS)


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


NEWEST, CHANGED = 8, 0.25
"""The newest trials, and the least difference of their rate from that of all, from which a record states them: later trials weigh more, so that a way
that went better lately stands before one of more successes."""


def describe_record(
    *,
    successes: int,
    trials: int,
    last: datetime,
    now: datetime | None,
    partials: int = 0,
    tasks: int = 0,
    last_run: int = 0,
    lately: int | None = None,
    where: str = "",
    why_bad: str | None = None,
    instead: str | None = None,
) -> str:
    """Returns the record of a way: "worked 3 of 5 times (4 tasks, last 2 days ago); the last 3 failed". Without `now` it has no age."""
    failures = trials - successes - partials
    parts = [f"{tasks} tasks"] if tasks > 1 else []
    parts += [f"{partials} in part"] if partials else []
    parts += [] if now is None else [f"last {age(last, now)}"]
    is_mostly_bad = failures > successes + partials
    of = "1" if trials == 1 else times(trials)
    said = f"failed {failures} of {of}" if is_mostly_bad else f"worked {successes} of {of}"
    said += where + (f" ({', '.join(parts)})" if parts else "")
    if 1 < last_run < trials:
        said += f"; the last {last_run} failed"
    elif lately is not None and not partials and trials > NEWEST and abs(lately / NEWEST - successes / trials) >= CHANGED:
        said += f"; {lately} of the last {NEWEST} worked"
    if why_bad and failures:
        said += f'; {"error" if is_mostly_bad else "a failure"}: "{brief(why_bad)}"'
    return said + (f"; instead: {brief(instead)}" if instead else "")


def stated_record(successes: int, trials: int, last: datetime, now: datetime | None, metadata: Mapping[str, Any]) -> str:
    """Returns the record of a stated strategy: how often it worked, where that is known, or how the attempts went that cited it."""
    if not trials:
        return f"no record yet{_cited(metadata)}"
    return describe_record(successes=successes, trials=trials, last=last, now=now)


def _cited(metadata: Mapping[str, Any]) -> str:
    """Returns how often a heuristic without a trial of its own was cited, and how that went."""
    found = metadata.get(CITED)
    count, share = (found.get("times"), found.get("share")) if isinstance(found, dict) else (None, None)
    if not isinstance(count, int) or not isinstance(share, int | float):
        return ""
    went = "that went well" if share >= _WELL else "that went badly" if share <= 1 - _WELL else "with mixed results"
    return f" of its own; cited {times(count)}, in attempts {went}"


def failed_of(failures: int, trials: int) -> str:
    """Returns why a way is bad of which no error was recorded."""
    return f"it failed {failures} of {times(trials)}"


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


def dated(moment: datetime, now: datetime) -> str:
    """Returns a time, in UTC, and how long ago it was: of two that are as many months ago, or both just now, a reader sees which is newer."""
    said = age(moment, now)
    shape = "%Y-%m-%d %H:%M:%S" if said == "just now" else "%Y-%m-%d %H:%M"
    return f"{moment:{shape}}, {said}"


def times(count: int) -> str:
    """Returns a number of times in words."""
    return "1 time" if count == 1 else f"{count} times"
