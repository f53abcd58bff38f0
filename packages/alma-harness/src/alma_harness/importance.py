"""Judges by its wording and its use how important a text is. Pure; used only where a program asks for it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from alma.errors import ValidationError
from alma.text import quoted
from alma.types import MemorySlice

MOST = 0.1
"""The most by which a score is raised: it reorders memories that are about equally near, and brings up none that is far."""

MOST_CHARACTERS = 10_000
"""Of a longer text the beginning is read."""

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"emphasis": 0.3, "remember": 0.6, "decision": 0.5, "references": 0.4, "use": 0.4}
)
"""Weight of each signal: the importance that it gives to a text without other signals."""

_EMPHASIS = re.compile(
    r"!|\b(?:[A-Z]{4,}\s+[A-Z]{3,})\b"
    r"|\b(?i:(?:very|really|extremely|most) important|crucial|essential|critical|must(?: not)?|never|always|make sure)\b"
)
_REMEMBER = re.compile(
    r"\b(?:remember (?:this|that|to)|please remember|don'?t forget|do not forget|keep in mind|bear in mind|take note|note that"
    r"|for future reference|from now on)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:(?:we|i|they)(?:'ve| have)? (?:decided|agreed|settled|chose)|(?:it (?:is|was) )?decided (?:to|that|on)"
    r"|let'?s go with|we(?: wi|')ll go with|the decision is|final decision)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Importance:
    """Importance of a text, in [0, 1], and the signals behind it, each in [0, 1]."""

    score: float
    signals: Mapping[str, float]
    factor: float
    """Factor of a score, from 1 to 1 + `most`."""


@dataclass(frozen=True, slots=True)
class ImportanceDetector:
    """Judges how important a text is: by emphasis, "remember this", decisions, how often others refer to it, and how often it was used.

    Signals add up as independent chances do: `score = 1 - product(1 - weight * signal)`. `most` bounds the factor. The wording is English.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    most: float = MOST

    def __post_init__(self) -> None:
        if unknown := set(self.weights) - set(WEIGHTS):
            raise ValidationError(f"there is no signal {quoted(min(unknown, key=str))}; there are {', '.join(WEIGHTS)}")
        for name, weight in (*self.weights.items(), ("most", self.most)):
            _check_share(weight, name)

    def detect(self, text: str, *, references: int = 0, uses: int = 0) -> Importance:
        """Returns how important a text is. `references` counts what refers to it, `uses` how often it was used; both count with growing
        indifference."""
        if not isinstance(text, str):
            raise ValidationError(f"importance is judged of a text, not of {quoted(text)}")
        for name, count in (("references", references), ("uses", uses)):
            _check_count(count, name)
        read = text[:MOST_CHARACTERS]
        signals = {
            "emphasis": _saturated(len(_EMPHASIS.findall(read)), 2),
            "remember": float(bool(_REMEMBER.search(read))),
            "decision": float(bool(_DECISION.search(read))),
            "references": _saturated(references, 3),
            "use": _saturated(uses, 3),
        }
        score = 1.0 - math.prod(1.0 - self.weights.get(name, 0.0) * signal for name, signal in signals.items())
        return Importance(score, signals, 1.0 + self.most * score)

    def reordered(self, memories: MemorySlice) -> MemorySlice:
        """Returns the slice with each score multiplied by the factor of what its memory says, in the order of these scores. Tags stay as they
        are. Of a conversation its nearest turn is read. Equal scores keep their order."""
        raised = [
            item.model_copy(
                update={"score": item.score * self.detect(item.turns[0].text if item.turns else item.memory.text).factor}
            )
            for item in memories.recalled
        ]
        return memories.model_copy(update={"recalled": tuple(sorted(raised, key=lambda item: -item.score))})


def _check_share(value: object, name: str) -> None:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValidationError(f"{name} must be a number from 0 to 1, not {quoted(value)}")


def _check_count(value: object, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValidationError(f"{name} must be a whole number, 0 or more, not {quoted(value)}")


def _saturated(count: int, half: int) -> float:
    """From 0 towards 1, one half at `half`."""
    return count / (count + half)
