"""Steps in an order: `search → open_page`, "run the tests, then push"."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from alma.learning.paraphrases import Saying, is_contained, saying
from alma.learning.reading import ARROW

MOST_STEPS = 32
_THEN = re.compile(rf"{ARROW.pattern}|[,;]?\s+(?:and\s+)?then\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a text. `name` is that of a tool where it says nothing else, else empty."""

    name: str
    words: Saying


def steps_in(text: str) -> tuple[Step, ...]:
    """Returns the steps that a text puts in an order; none where it names only one thing, or more steps than are read."""
    parts = [part for part in _THEN.split(text, maxsplit=MOST_STEPS) if part.strip()]
    return tuple(map(_step, parts)) if 1 < len(parts) <= MOST_STEPS else ()


def is_out_of_order(named: Sequence[Step], taken: Sequence[Step]) -> bool:
    """Returns True if two texts are sequences, and `taken` has the steps of `named` in another order.

    Of sequences of names all have to be there. Steps in other words may be phrased differently: of these only those count that are found.
    """
    if not (named and taken):
        return False
    if all(step.name for step in (*named, *taken)):
        return not _follows(named, taken, lambda one, other: one.name == other.name, gap=1)
    found = [one for one in named if any(is_contained(one.words, other.words) for other in taken)]
    return not _follows(found, taken, lambda one, other: is_contained(one.words, other.words), gap=0)


def _follows(named: Sequence[Step], taken: Sequence[Step], is_step: Callable[[Step, Step], bool], *, gap: int) -> bool:
    """Returns True if each step of `named` is found at or behind the place of the one before it, at least `gap` places."""
    start = 0
    for one in named:
        place = next((place for place in range(start, len(taken)) if is_step(one, taken[place])), None)
        if place is None:
            return False
        start = place + gap
    return True


def _step(part: str) -> Step:
    plain = part.strip(" \t\n`.;,")
    return Step("" if re.search(r"[\s()]", plain) else plain.lower(), saying(plain))
