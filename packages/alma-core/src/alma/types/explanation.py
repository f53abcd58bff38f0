"""Why a memory was recalled, or why not: every number behind an answer."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from alma.text import one_line, shortened
from alma.types.reading import read_json
from alma.types.scope import Access

Number = Annotated[float, Field(allow_inf_nan=False)]
FACTOR_LABELS = {"similarity": "similarity", "recency": "recency", "success": "success_rate", "confidence": "confidence"}
"""The factors in the order in which they are told, and by what name."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FactorPart(_Value):
    """What one factor adds to a score: its value in [0, 1] times its weight."""

    value: Number
    weight: Number
    product: Number


class ArmPart(_Value):
    """What one search said: its raw score (a cosine, or a share of the best possible BM25), the mean and deviation of the background that it
    was judged against, `z = (score - mean) / deviation`, and the share that z has in the fusion."""

    score: Number
    mean: Number
    deviation: Number
    z: Number
    weight: Number


class PassagePart(_Value):
    """The passage of a memory that is nearest to the question, at most 800 characters of it, and its cosine."""

    text: str
    speaker: str
    position: int
    cosine: Number


class Floor(_Value):
    """The least that a memory must have of one of the two to be about the question at all."""

    cosine: Number
    share: Number


class Explanation(_Value):
    """Every number behind one memory's place in an answer.

    `arms` holds the searches that were asked ("dense", "text"); `z` is the weighted mean of theirs, `similarity` its logistic. The score is
    `usefulness` times the sum of the factors' products. `cosine` is pooled over the memory's passages, `share` is 0 where no word matched.
    `words` are those of the question that stand in the memory. `folded` are ids of equal memories that this one stands for, at most 20;
    `copies` counts all, itself included. `rank` counts from 1 through the whole answer, `rank_of_kind` through its kind; `None` for
    a memory that was not returned. `access` is the rule that lets the reader see it.
    """

    access: Access
    cosine: Number
    share: Number
    passage: PassagePart | None
    words: tuple[str, ...]
    arms: dict[str, ArmPart]
    z: Number
    similarity: Number
    factors: dict[str, FactorPart]
    usefulness: Number
    score: Number
    rank: int | None
    rank_of_kind: int | None
    copies: int
    folded: tuple[str, ...]

    def __str__(self) -> str:
        """Some lines for a person."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The numbers as a person reads them, one matter a line."""
        parts = " + ".join(
            f"{part.weight:.2f} × {FACTOR_LABELS.get(name, name)} {part.value:.3f}" for name, part in self.factors.items()
        )
        useful = "" if self.usefulness == 1.0 else f"{self.usefulness:.3f} × "
        lines = [f"score {self.score:.4f} = {useful}({parts})" if useful else f"score {self.score:.4f} = {parts}"]
        for name, arm in self.arms.items():
            told = "meaning: cosine" if name == "dense" else "words: share"
            lines.append(f"{told} {arm.score:.3f}, z {arm.z:+.2f} (background {arm.mean:.3f} ± {arm.deviation:.3f})")
        if self.words:
            lines.append(f"words matched: {', '.join(self.words)}")
        if self.passage:
            speaker = f", said by {self.passage.speaker}" if self.passage.speaker else ""
            lines.append(
                f"nearest passage (number {self.passage.position}{speaker}): {shortened(one_line(self.passage.text), 300)}"
            )
        lines.append(f"readable because: {self.access.told}")
        if self.copies > 1:
            lines.append(f"stands for {self.copies} equal memories: itself and {', '.join(self.folded)}")
        return lines


class Reason(StrEnum):
    """Why a memory is in an answer, or the first filter that kept it out, in the order in which they are applied."""

    SELECTED = "selected"
    UNKNOWN = "unknown"
    OTHER_PROJECT = "other_project"
    SCOPE = "scope"
    ARCHIVED = "archived"
    OVERRULED = "overruled"
    BELOW_FLOOR = "below_floor"
    NOT_A_CANDIDATE = "not_a_candidate"
    FOLDED = "folded"
    NOT_A_CONTENDER = "not_a_contender"
    BELOW_LAST = "below_last"


class RetrievalExplanation(_Value):
    """Why `retrieve` returns one memory for a question, or why not.

    `reason` names the one filter that kept it out; `text` says so with its numbers and with what would let it in. `access` says how the reader
    stands to the memory (`None` where there is no memory to stand to). `explanation` has the numbers where the memory could be scored.
    `score_needed` is the score of the last one of its kind; `top_k_needed` is a `top_k` that returns it (the least, in a scope of at most 2,000
    memories), `None` where none does. `stands_for_it` is the id of the memory of equal content that it was folded into. `agent` is the
    reader; `is_owners_view` says that none was named, so that the memory's own owner was taken.
    """

    query: str
    memory_id: str
    agent: str | None
    user_id: str | None
    top_k: int
    is_owners_view: bool
    reason: Reason
    text: str
    access: Access | None = None
    explanation: Explanation | None = None
    floor: Floor | None = None
    score_needed: Number | None = None
    top_k_needed: int | None = None
    stands_for_it: str | None = None

    @property
    def selected(self) -> bool:
        """Whether the memory is returned."""
        return self.reason is Reason.SELECTED

    @property
    def factors(self) -> dict[str, FactorPart]:
        """The parts of its score; empty where it was not scored."""
        return dict(self.explanation.factors) if self.explanation else {}

    def __str__(self) -> str:
        """The text."""
        return self.text

    def to_json(self) -> str:
        """The whole explanation as JSON; `from_json` gives an equal one back."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, data: str | bytes) -> "RetrievalExplanation":
        """The explanation that `to_json` wrote. `ValidationError` if it is none."""
        return read_json(cls, data, "an explanation")
