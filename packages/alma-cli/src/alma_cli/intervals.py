"""Draws a share and its interval with characters on a scale from 0 to 1."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alma.types.strategies import Range

WIDTH = 15


@dataclass(frozen=True, slots=True)
class Marks:
    """Characters of a picture: the empty scale, the ends of the interval, its inside, and the share."""

    scale: str
    left: str
    right: str
    inside: str
    share: str


DRAWN = Marks("─", "┤", "├", "█", "●")
PLAIN = Marks("-", "[", "]", "=", "o")


def marks() -> Marks:
    """Returns drawn characters for a terminal that can show them, plain ones elsewhere."""
    return DRAWN if sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf") else PLAIN


def picture(share: float, interval: "Range", marks: Marks, *, width: int = WIDTH) -> str:
    """Returns the interval on the scale, `width` characters wide, with the share in it."""
    left, here, right = (_place(value, width) for value in (interval.lower, share, interval.upper))
    drawn = [marks.inside if left < place < right else marks.scale for place in range(width)]
    drawn[left], drawn[right] = marks.left, marks.right
    drawn[here] = marks.share
    return "".join(drawn)


def _place(value: float, width: int) -> int:
    return min(max(round(value * (width - 1)), 0), width - 1)
