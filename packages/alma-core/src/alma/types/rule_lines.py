"""Lines of rules outside an answer to a task: each names the task that it is about."""

from datetime import datetime

from alma.text import one_line, shortened
from alma.types.memories import AntiPattern, Heuristic
from alma.types.prompt import note
from alma.types.sentences import ITEM_CHARS, ends_with

MOST_TASK = 80
"""Characters of a task that is named."""


def note_on_tasks(rule: Heuristic | AntiPattern, now: datetime | None = None) -> str:
    """Returns the line of a rule as `note` does, with the newest task behind it: 'run it twice (on tasks such as "Deploy the shop"): worked 3 of
    3 times'.

    A stated rule is as in `note`, and so is one of which no task may be shown to its reader.
    """
    task = rule.metadata.get("task")
    if not rule.metadata.get("learned") or not isinstance(task, str):
        return note(rule, now)
    about = f' (on tasks such as "{shortened(one_line(task), MOST_TASK)}")'
    name, way = ("strategy", rule.strategy) if isinstance(rule, Heuristic) else ("pattern", rule.pattern)
    changes: dict[str, object] = {name: shortened(one_line(way), ITEM_CHARS - len(about)) + about}
    if isinstance(rule, AntiPattern) and ends_with(way, rule.why_bad):
        changes["metadata"] = {**rule.metadata, "error": False}  # so that the reason is not said twice
    return note(rule.model_copy(update=changes), now)
