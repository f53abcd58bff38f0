"""Retrieved memories with every number behind them, and the contradictions among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from alma.text import one_line, shortened
from alma.types.identity import Access, Value, read_json
from alma.types.memories import AnyMemory, Share
from alma.types.provenance import MemoryProvenance
from alma.types.tags import TAG

Number = Annotated[float, Field(allow_inf_nan=False)]
FACTOR_LABELS = {"similarity": "similarity", "recency": "recency", "success": "success_rate", "confidence": "confidence"}
"""Names of the factors, in the order in which they are shown."""


class FactorPart(Value):
    """Contribution of one factor to a score: its value in [0, 1] times its weight."""

    value: Number
    weight: Number
    product: Number


class ArmPart(Value):
    """Result of one search: its raw score (a cosine, or a share of the best possible BM25), the mean and deviation of the background, `z
    = (score - mean) / deviation`, and the weight of z in the fusion."""

    score: Number
    mean: Number
    deviation: Number
    z: Number
    weight: Number


class PassagePart(Value):
    """The passage of a memory that is nearest to the question, at most 800 characters of it, and its cosine."""

    text: str
    speaker: str
    position: int
    cosine: Number


class Floor(Value):
    """Thresholds of relevance: a memory must reach one of the two."""

    cosine: Number
    share: Number


class Explanation(Value):
    """Every number behind one memory's place in an answer.

    `arms` holds the searches that were used ("dense", "text"). `z` is the weighted mean of theirs plus `time`, the gain of a memory that
    happened at the time that the question names; `similarity` is its logistic. The score is `usefulness` times the sum of the factors'
    products. `cosine` is pooled over the memory's passages, `share` is 0 where no word matched. `words` are the question's words that
    occur in the memory. `folded` are ids of equal memories that this one represents, at most 20; `copies` counts all, itself included.
    `rank` counts from 1 through the whole answer, `rank_of_kind` through its kind; both are `None` for a memory that was not returned.
    `access` is the rule that lets the reader see it. `provenance` says where the memory
    comes from.
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
    time: Number = 0.0
    provenance: MemoryProvenance | None = None

    def __str__(self) -> str:
        """Returns a few lines for a person."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Returns the numbers as text, one topic per line."""
        parts = " + ".join(
            f"{part.weight:.2f} × {FACTOR_LABELS.get(name, name)} {part.value:.3f}" for name, part in self.factors.items()
        )
        useful = "" if self.usefulness == 1.0 else f"{self.usefulness:.3f} × "
        lines = [f"score {self.score:.4f} = {useful}({parts})" if useful else f"score {self.score:.4f} = {parts}"]
        for name, arm in self.arms.items():
            measure = "meaning: cosine" if name == "dense" else "words: share"
            lines.append(f"{measure} {arm.score:.3f}, z {arm.z:+.2f} (background {arm.mean:.3f} ± {arm.deviation:.3f})")
        if self.time:
            lines.append(f"time: it happened when the question says, z {self.time:+.2f}")
        if self.words:
            lines.append(f"words matched: {', '.join(self.words)}")
        if self.passage:
            speaker = f", said by {self.passage.speaker}" if self.passage.speaker else ""
            lines.append(
                f"nearest passage (number {self.passage.position}{speaker}): {shortened(one_line(self.passage.text), 300)}"
            )
        lines.append(f"readable because: {self.access.described}")
        if self.provenance and (source := str(self.provenance)):
            lines.append(f"where from: {source}")
        if self.copies > 1:
            lines.append(f"stands for {self.copies} equal memories: itself and {', '.join(self.folded)}")
        return lines


class Factors(Value):
    """The parts of a score, each in [0, 1], their weights, which add up to 1, and the multiplier for measured usefulness.

    `score = usefulness * sum(weights[f] * f)` over similarity, recency, success and confidence.
    """

    similarity: Share
    recency: Share
    success: Share
    confidence: Share
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


class Reason(StrEnum):
    """Why a memory is in an answer, or the first filter that excluded it, in the order in which filters are applied."""

    SELECTED = "selected"
    UNKNOWN = "unknown"
    OTHER_PROJECT = "other_project"
    SCOPE = "scope"
    ARCHIVED = "archived"
    OUTSIDE_TIMES = "outside_times"
    OVERRULED = "overruled"
    BELOW_FLOOR = "below_floor"
    NOT_A_CANDIDATE = "not_a_candidate"
    FOLDED = "folded"
    NOT_A_CONTENDER = "not_a_contender"
    CONTRADICTED = "contradicted"
    BELOW_LAST = "below_last"


class RetrievalExplanation(Value):
    """Explains why `retrieve` returns one memory for a question, or why not.

    `reason` names the first filter that excluded it; `text` says so with its numbers and with what would include it. `access` is the rule
    between the reader and the memory (`None` where there is no memory). `explanation` has the numbers where the memory could be scored.
    `score_needed` is the score of the last one of its kind; `top_k_needed` is a `top_k` that returns it (the least, in a scope of at most
    2,000 memories), `None` where none does. `stands_for_it` is the id of the memory of equal content that it was folded into, or of the one that
    contradicts it. `agent` is
    the reader; `is_owners_view` says that none was named, so that the memory's own owner was taken.
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
        """True when the memory is returned."""
        return self.reason is Reason.SELECTED

    @property
    def factors(self) -> dict[str, FactorPart]:
        """Parts of the score; empty where the memory was not scored."""
        return dict(self.explanation.factors) if self.explanation else {}

    def __str__(self) -> str:
        """Returns the text."""
        return self.text

    def to_json(self) -> str:
        """Returns the whole explanation as JSON. `from_json` returns an equal one."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, data: str | bytes) -> "RetrievalExplanation":
        """Reads an explanation that `to_json` wrote. `ValidationError` if it is none."""
        return read_json(cls, data, "an explanation")


CONTRADICTED = "contradicted"
"""The metadata key under which a recalled memory says that another contradicts it. Set by `retrieve`, never stored."""

WHY_PREFERRED = {
    "newer": "a newer note says otherwise",
    "better sourced": "a better-sourced note says otherwise",
    "surer": "a surer note says otherwise",
    "uncontradicted": "a note that nothing contradicts says otherwise",
}
"""Why one of two memories is preferred, with what a prompt says of the other."""


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
        """The sort of contradiction, and the preferred memory, as a sentence."""
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
