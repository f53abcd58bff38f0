"""What tasks said before `Crew(planning=True)` appended plans to them, which differ from run to run."""

from typing import Any
from weakref import WeakKeyDictionary

from crewai.utilities.string_utils import interpolate_only

_TEXTS: "WeakKeyDictionary[Any, str]" = WeakKeyDictionary()


def note(crew: Any) -> None:
    """Keeps what the tasks of a crew say, before it plans. What is said after a plan of an earlier start is not the task's."""
    if not getattr(crew, "planning", False):
        return
    for task in crew.tasks:
        text = task._original_description or task.description
        if not text.startswith(_TEXTS.get(task) or text):
            _TEXTS[task] = text
        _TEXTS.setdefault(task, text)


def text_before(task: Any, crew: Any) -> str:
    """What a task says, with its inputs and without a plan."""
    text = _TEXTS.get(task) if getattr(crew, "planning", False) else None
    if text is None:
        return str(task.description)
    inputs = getattr(crew, "_inputs", None)
    return interpolate_only(text, inputs) if inputs else text
