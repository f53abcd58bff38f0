"""Facts of a conversation by plain rules, without a model: precision before recall, spans quoted."""

from collections.abc import Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

from alma.memory.arguments import checked_items, checked_text
from alma.memory.learn.messages import read, turns_of
from alma.text import normalised, shortened
from alma_knowledge.extraction.facts import ExtractedFact, ExtractionResult, FactType
from alma_knowledge.extraction.statements import (
    DECISION,
    FACT,
    PREFERENCE,
    WARNING,
    Statement,
    read_statements,
    read_ways,
    request_in,
)

USERS = frozenset({"user", "human", "customer"})
TOOLS = frozenset({"tool", "function"})
LONGEST_REQUEST = 300
STATED, REPORTED = 0.8, 0.6
"""Confidence in a statement, and in an agent's own word that a way worked."""


class Said(NamedTuple):
    """A message: its place from 0, its speaker, its text, and whether a person said it."""

    place: int
    speaker: str
    text: str
    is_own: bool

    @property
    def is_users(self) -> bool:
        """True if the user said it, and not another person whose name is given."""
        return self.is_own and self.speaker.lower() in USERS


def read_messages(messages: Iterable[Any]) -> list[Said]:
    """Returns the messages in which something was said, by people or assistants; instructions of a system and answers of tools are left out.

    `ValidationError` for a message without a role.
    """
    given = list(checked_items(messages, "messages"))
    turns = turns_of((str(place), message) for place, message in enumerate(given))
    found = (Said(int(place), turn.speaker, turn.text, turn.is_own) for place, turn in turns)
    return [one for one in found if one.speaker.lower() not in TOOLS and not _is_of_a_tool(given[one.place])]


def _is_of_a_tool(message: Any) -> bool:
    """Returns True for an answer of a tool, which may bear the tool's name as its speaker."""
    inner = read(message, "kwargs")
    role = read(inner if isinstance(inner, Mapping) else message, "role", "speaker", "type")
    return str(getattr(role, "value", role)).lower() in TOOLS


class RuleBasedExtractor:
    """Finds what people state outright, and ways of which an assistant or a user says that they worked or failed. Needs no model."""

    def extract(
        self, messages: Iterable[Any], agent_context: str | None = None, existing_facts: Iterable[str] | None = None
    ) -> ExtractionResult:
        """Returns the facts, each with a quoted span. Those that `existing_facts` hold word by word are left out."""
        begun = perf_counter()
        known = {normalised(one) for one in known_facts(existing_facts)}
        facts = tuple(fact for fact in _facts(read_messages(messages)) if normalised(fact.content) not in known)
        return ExtractionResult(facts, extraction_time_ms=round((perf_counter() - begun) * 1_000), method="rules")


def known_facts(existing_facts: Iterable[str] | None) -> list[str]:
    """Returns the facts that need not be found again. `ValidationError` for a value that is no text."""
    given = () if existing_facts is None else checked_items(existing_facts, "existing_facts")
    return [checked_text(one, "existing_facts") for one in given]


def _facts(said: list[Said]) -> Iterator[ExtractedFact]:
    request: Said | None = None
    for one in said:
        if request is not None:
            yield from (_outcome(one, way, request) for way in read_ways(one.text))
        if not one.is_own:
            continue
        yield from (_fact(one, statement) for statement in read_statements(one.text))
        if asked := request_in(one.text):
            request = one._replace(text=shortened(asked, LONGEST_REQUEST))


def _outcome(one: Said, way: Statement, request: Said) -> ExtractedFact:
    verdict = "success" if way.is_good else "failure"
    known = {"turn": one.place, "speaker": one.speaker, "request_turn": request.place, "task": request.text, "outcome": verdict}
    if way.why:
        known["why"] = way.why
    return ExtractedFact(FactType.OUTCOME, way.text, REPORTED, way.text, known, strategy=way.way)


def _fact(one: Said, statement: Statement) -> ExtractedFact:
    known: dict[str, Any] = {"turn": one.place, "speaker": one.speaker}
    content = statement.text if one.is_users else f"{one.speaker}: {statement.text}"
    if statement.kind == WARNING:
        return ExtractedFact(FactType.ANTI_PATTERN, content, STATED, statement.text, {**known, "why": statement.why})
    if statement.kind == PREFERENCE:
        return ExtractedFact(FactType.PREFERENCE, content, STATED, statement.text, known, category="stated")
    domain = "decision" if statement.kind == DECISION else "stated" if statement.kind == FACT else "milestone"
    return ExtractedFact(FactType.DOMAIN_KNOWLEDGE, content, STATED, statement.text, known, domain=domain)
