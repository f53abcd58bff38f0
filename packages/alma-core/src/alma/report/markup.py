"""HTML that is safe by its making: whatever is not markup already is escaped."""

from collections.abc import Iterable
from html import escape

from alma.text import one_line, shortened

LONGEST = 320
"""Stored texts are shown up to so many characters."""

_VOID = frozenset({"meta", "rect", "line"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Attribute = str | int | float | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. Children that are not `Html` are escaped, attributes always; a trailing underscore in an attribute's name is dropped, other
    ones become hyphens. Attributes and children that are `None` are left out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{told}/>" if name in _VOID else f"<{name}{told}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """The children one after another, escaped where they are not `Html`."""
    return Html("".join(map(_rendered, children)))


def stored(text: str, limit: int = LONGEST) -> str:
    """A stored text as it is shown: one line of printable characters, none of which changes the direction of writing. Still to be escaped."""
    return shortened(one_line(text), limit)


def _rendered(child: Child) -> str:
    match child:
        case None:
            return ""
        case Html():
            return child
        case str() | int():
            return escape(str(child))
        case _:
            return join(*child)


def _number(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
