"""The values of extraction, under the published names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable


class FactType(StrEnum):
    """Kinds of facts, each of which becomes a kind of memory."""

    HEURISTIC = "heuristic"
    ANTI_PATTERN = "anti_pattern"
    PREFERENCE = "preference"
    DOMAIN_KNOWLEDGE = "domain_knowledge"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact of a conversation. `source_text` is the quoted span, `metadata["turn"]` the place of its message, from 0.

    `condition` and `strategy` belong to heuristics, `strategy` also to outcomes, `category` to preferences, `domain` to knowledge. An outcome has its
    task and verdict in the metadata, an anti-pattern its reason. `confidence` is from 0 to 1.
    """

    fact_type: FactType
    content: str
    confidence: float = 0.8
    source_text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    condition: str | None = None
    strategy: str | None = None
    category: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Facts of a conversation and how they were found.

    `method` is "rules", "llm", one of the sentences that say which of them failed, or a name of yours. `rejected` are facts that the extractor itself
    refused, each with the reason. `problems` says what went wrong on the way, as a failed model.
    """

    facts: tuple[ExtractedFact, ...] = ()
    raw_response: str | None = None
    tokens_used: int = 0
    extraction_time_ms: int = 0
    method: str = "extractor"
    rejected: tuple[tuple[ExtractedFact, str], ...] = ()
    problems: tuple[str, ...] = ()


@runtime_checkable
class FactExtractor(Protocol):
    """Finds facts in a conversation. Thread-safe."""

    def extract(
        self, messages: Iterable[Any], agent_context: str | None = None, existing_facts: Iterable[str] | None = None
    ) -> ExtractionResult:
        """Returns the facts of messages. `agent_context` says what the agent is for, `existing_facts` need not be found again."""
