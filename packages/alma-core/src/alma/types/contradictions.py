"""Memories of a slice that contradict each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from alma.text import one_line, shortened
from alma.types.value import Value

CONTRADICTED = "contradicted"
"""The metadata key under which a recalled memory says that another contradicts it. Set by `retrieve`, never stored."""

WHY_PREFERRED = {
    "newer": "a newer note says otherwise",
    "better sourced": "a better-sourced note says otherwise",
    "surer": "a surer note says otherwise",
    "uncontradicted": "a note that nothing contradicts says otherwise",
}
"""Why one of two memories is preferred, with what a prompt says of the other."""

SHORT = 120


class Contradiction(Value):
    """Two facts of one agent, or two preferences of one user, that contradict each other: the ids and short forms of both.

    `sort` says how: one is a "denial" of the other, they say the "opposite", or state another "value". `preferred_value` and `other_value`
    are the words that differ. `why` says what the preferred one is: "newer", "better sourced", "surer" (of more confidence), or
    "uncontradicted" (a better memory contradicts the other one, too). `is_left_out` says that the other one is not in the slice
    (`retrieve(verified=True)`).
    """

    preferred_id: str
    other_id: str
    preferred: str
    other: str
    sort: Literal["denial", "opposite", "value"]
    preferred_value: str = ""
    other_value: str = ""
    why: Literal["newer", "better sourced", "surer", "uncontradicted"]
    is_left_out: bool = False

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of both, the preferred one first."""
        return self.preferred_id, self.other_id

    @property
    def reason(self) -> str:
        """How they contradict each other, and which is preferred, as a sentence."""
        how = {
            "denial": "one denies what the other says",
            "opposite": f"one says the opposite of the other ({self.preferred_value}, {self.other_value})",
            "value": f"they state different values ({self.preferred_value}, {self.other_value})",
        }[self.sort]
        return f"{how}; the first is preferred: it is {self.why}"

    def __str__(self) -> str:
        """Returns both and the reason on one line."""
        return f"“{self.preferred}” against “{self.other}”: {self.reason}"


@dataclass(frozen=True, slots=True)
class Disputes:
    """The contradictions among the facts and preferences of a slice.

    `beaten` has of each memory to which another one is preferred the reason, one of `WHY_PREFERRED`, and the id of the best that is. `order` are
    the ids of all the memories as they are to be shown, in the places that they have together.
    """

    pairs: Sequence[Contradiction]
    beaten: Mapping[str, tuple[str, str]]
    order: Sequence[str]


def short_form(text: str) -> str:
    """Returns a text on one line, at most `SHORT` characters."""
    return shortened(one_line(text), SHORT)
