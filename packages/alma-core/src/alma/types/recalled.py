"""Retrieved memories with the numbers behind them, and those that a prompt need not list one by one."""

import re
from collections.abc import Hashable, Sequence
from typing import Annotated

from pydantic import Field

from alma.types.contradictions import CONTRADICTED
from alma.types.explanation import Explanation
from alma.types.memories import AnyMemory, Outcome
from alma.types.tags import TAG
from alma.types.value import Value

Factor = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Factors(Value):
    """The parts of a score, each in [0, 1], their weights, which add up to 1, and the multiplier for measured usefulness.

    `score = usefulness * sum(weights[f] * f)` over similarity, recency, success and confidence.
    """

    similarity: Factor
    recency: Factor
    success: Factor
    confidence: Factor
    usefulness: float = 1.0
    weights: dict[str, float]


class TurnHit(Value):
    """A turn of a recalled conversation that is near to the question.

    `position` is its number in `memory.turns`, from 0, `text` the piece of it that is nearest. The scores of all turns of a slice compare: a greater
    one is nearer. Where the caller chose the passages of a conversation, each of these is a turn, and `position` is the passage's.
    """

    memory_id: str
    position: Annotated[int, Field(ge=0)]
    speaker: str
    text: str
    score: Annotated[float, Field(allow_inf_nan=False)]

    @property
    def line(self) -> str:
        """The speaker and the text, as a prompt shows them."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class Recalled(Value):
    """One memory of a slice: the tag by which a prompt cites it, its score, the factors behind it, and the number of equal memories that
    it represents.

    `explanation` has every number behind the score, where it was requested. `turns` are those of a conversation that are nearest to the question,
    nearest first. `alike` is how many outcomes a prompt leaves out because they differ from this one in the numbers of their task alone; it is known
    in a slice that was fitted to a prompt. `is_near` is False for an outcome of another kind of task than the one asked about, which a prompt
    leaves out.
    """

    tag: Annotated[str, Field(pattern=f"^{TAG}$")]
    memory: AnyMemory
    score: float
    factors: Factors
    copies: int = 1
    alike: int = 0
    is_near: bool = True
    explanation: Explanation | None = None
    turns: tuple[TurnHit, ...] = ()


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
