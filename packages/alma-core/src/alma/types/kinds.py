"""The closed sets of words that ALMA uses."""

from enum import StrEnum


class MemoryType(StrEnum):
    """The built-in kinds of memory."""

    HEURISTIC = "heuristic"
    OUTCOME = "outcome"
    USER_PREFERENCE = "user_preference"
    DOMAIN_KNOWLEDGE = "domain_knowledge"
    ANTI_PATTERN = "anti_pattern"


class Verdict(StrEnum):
    """How a task or a step ended. `unverified` where nobody judged it."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    UNVERIFIED = "unverified"


class VerdictSource(StrEnum):
    """Who judged an outcome: a tool (exit status, exception, test run), a person, an evaluator, the program that calls `learn`, the agent itself,
    or a file from elsewhere."""

    TOOL = "tool"
    PERSON = "person"
    EVALUATOR = "evaluator"
    CALLER = "caller"
    AGENT = "agent"
    IMPORTED = "imported"

    @property
    def is_trusted(self) -> bool:
        """Whether it is more than the agent's own word or that of a foreign file."""
        return self not in (VerdictSource.AGENT, VerdictSource.IMPORTED)


class Standing(StrEnum):
    """How far a rule is believed. One that is demoted is archived, and comes back when its evidence does."""

    CANDIDATE = "candidate"
    LIKELY = "likely"
    PROVEN = "proven"
    DEMOTED = "demoted"


class FeedbackSignal(StrEnum):
    """What a person or an agent said about a memory that it was shown."""

    USED = "used"
    IGNORED = "ignored"
    THUMBS_UP = "thumbs_up"
    THUMBS_DOWN = "thumbs_down"
