"""ALMA's enumerations, and the properties of each built-in kind of memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from alma.errors import ValidationError
from alma.text import name_nearest, plain_value, quoted


class MemoryType(StrEnum):
    """The built-in kinds of memory."""

    HEURISTIC = "heuristic"
    OUTCOME = "outcome"
    USER_PREFERENCE = "user_preference"
    DOMAIN_KNOWLEDGE = "domain_knowledge"
    ANTI_PATTERN = "anti_pattern"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True)
class KindSpec:
    """Properties of a built-in kind, beside the fields and the sentence of its class in `alma.types.memories`.

    `letter` begins its tags and `section` its part of a prompt, in the order of `KINDS`. `listed_as` names it in a slice and in
    statistics. `time_field` is the field that recency counts from. `counts` maps fields to the columns `trials` and `successes` that
    store them. `forgotten_by` is the criterion of the policy of `forget`; a kind that is forgotten by "nothing" applies to every task,
    too.
    """

    letter: str
    section: str
    listed_as: str
    time_field: str
    counts: Mapping[str, str] = field(default_factory=dict)
    forgotten_by: Literal["age", "confidence", "nothing"] = "confidence"


_RECORD = {"occurrence_count": "trials", "success_count": "successes"}

KINDS: Mapping[MemoryType, KindSpec] = {
    MemoryType.HEURISTIC: KindSpec("H", "Stated strategies", "heuristics", "last_validated", _RECORD),
    MemoryType.ANTI_PATTERN: KindSpec("A", "What to avoid", "anti_patterns", "last_seen", _RECORD),
    MemoryType.USER_PREFERENCE: KindSpec("P", "What the user wants", "preferences", "timestamp", forgotten_by="nothing"),
    MemoryType.DOMAIN_KNOWLEDGE: KindSpec("K", "What is known", "domain_knowledge", "last_verified"),
    MemoryType.CONVERSATION: KindSpec("T", "What was said", "conversations", "held_at"),
    MemoryType.OUTCOME: KindSpec("O", "What happened before", "outcomes", "timestamp", forgotten_by="age"),
}
"""The built-in kinds in the order of a prompt."""

CUSTOM_LETTER, CUSTOM_SECTION = "C", "Notes"
"""Tag letter and prompt section of kinds that users define."""


class Verdict(StrEnum):
    """End of a task or a step. `unverified` means that it was not judged."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    UNVERIFIED = "unverified"

    @classmethod
    def checked(cls, value: object) -> "Verdict":
        """Returns the verdict of a word in any case, or of `True` or `False`, also as an enum's member or a scalar of an array holds it. Anything
        else is an error, never a silent failure."""
        word = plain_value(value)
        if isinstance(word, bool):
            return cls.SUCCESS if word else cls.FAILURE
        try:
            return cls(word.strip().lower() if isinstance(word, str) else "")
        except ValueError:
            words = [verdict.value for verdict in cls]
            known = ", ".join(map(repr, words))
            raise ValidationError(f"outcome {quoted(value)} is none of {known}{name_nearest(word, words)}") from None


WORTH: Mapping[Verdict, float] = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}
"""Share of a success that each verdict counts as; an unverified attempt counts as none."""


class VerdictSource(StrEnum):
    """Source of a verdict: a tool (exit status, exception, test run), a person, an evaluator, the program that calls `learn`, the agent
    itself, or a file from elsewhere."""

    TOOL = "tool"
    PERSON = "person"
    EVALUATOR = "evaluator"
    CALLER = "caller"
    AGENT = "agent"
    IMPORTED = "imported"

    @classmethod
    def checked(cls, value: object, name: str = "verdict_source") -> "VerdictSource":
        """Returns the member of that name, in any case. `ValidationError` for another word."""
        word = plain_value(value)
        try:
            return cls(word.strip().lower() if isinstance(word, str) else "")
        except ValueError:
            raise ValidationError(f"{name} must be one of {', '.join(cls)}, not {quoted(value)}") from None

    @property
    def is_trusted(self) -> bool:
        """True unless it is the agent's own word or that of a foreign file."""
        return self not in (VerdictSource.AGENT, VerdictSource.IMPORTED)


class FeedbackSignal(StrEnum):
    """Feedback of a person or an agent on a memory that it was shown."""

    USED = "used"
    IGNORED = "ignored"
    THUMBS_UP = "thumbs_up"
    THUMBS_DOWN = "thumbs_down"
