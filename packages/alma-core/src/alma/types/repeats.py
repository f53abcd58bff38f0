"""Outcomes that a prompt need not list one by one: they differ in the numbers of their task alone. Pure."""

import re
from collections.abc import Hashable, Sequence

from alma.types.contradictions import CONTRADICTED
from alma.types.memories import Outcome
from alma.types.recalled import Recalled

_NUMBER = re.compile(r"\d+")
_MARKS = ("shared_from", "flagged", CONTRADICTED)
"""Keys of metadata of which a prompt speaks."""


def without_repeats(items: Sequence[Recalled]) -> list[Recalled]:
    """Returns the items without the outcomes that repeat a better one, which counts them in `alike`.

    An outcome repeats another of the same agent and user if the two are described in the same words but for the numbers in their task: "Deploy
    build 41" and "Deploy build 42", both done in the same way, with the same verdict and without an error or feedback that differs.
    """
    groups: dict[Hashable, list[Recalled]] = {}
    for item in items:
        likeness = _likeness(item.memory) if isinstance(item.memory, Outcome) else item.tag
        groups.setdefault(likeness, []).append(item)
    return [_for_all(first, rest) for first, *rest in groups.values()]


def _for_all(first: Recalled, rest: Sequence[Recalled]) -> Recalled:
    count = len(rest) + sum(item.alike for item in rest)
    return first.model_copy(update={"alike": first.alike + count}) if count else first


def _likeness(outcome: Outcome) -> Hashable:
    """What two repeats have in common: all that a prompt says of them, but for numbers and age."""
    rest = outcome.model_copy(update={"task_description": ""}).described(None)
    marks = tuple(str(outcome.metadata.get(key)) for key in _MARKS)
    return outcome.agent, outcome.user_id, _NUMBER.sub("0", outcome.task_description), rest, marks
