"""One retrieved memory with the numbers behind it."""

from typing import Annotated

from pydantic import Field

from alma.types.explanation import Explanation
from alma.types.memories import AnyMemory
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
