"""The kinds of memory, as frozen values.

Every kind has, beside its own fields: `text` (embedded and searched), `keywords` (further words, searched but not embedded), `seen_at`
(the time that recency counts from), `successes` of `trials` (its record, `None` where it has none).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag, TypeAdapter, model_validator

from alma.text import sentences_of, split_passages
from alma.types import sentences
from alma.types.custom import CustomMemoryType
from alma.types.identity import UtcDatetime, Value, new_id, utc_now
from alma.types.kinds import KINDS, WORTH, MemoryType, Verdict, VerdictSource
from alma.types.sentences import brief

Name = Annotated[str, Field(min_length=1, max_length=200)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]

_MAPPINGS = (dict, Mapping)
"""In this order: a look at an abstract class is a call in Python, and each memory that is read is looked at thrice."""


LESSON = "lesson"
"""Key of the metadata of a lesson that alma-knowledge noted. Its `runs` are successes and runs with it, then without it, when it was made."""


class Memory(Value, ABC):
    """Fields that all kinds share. `id` is a UUIDv7; times are aware UTC; `confidence` is in [0, 1].

    What was recorded for a user has their `user_id`, and is read only with it.
    """

    kind: str
    id: str = Field(default_factory=new_id)
    agent: str = ""
    user_id: Name | None = None
    project_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    confidence: Share = 1.0
    created_at: UtcDatetime = Field(default_factory=utc_now)
    updated_at: UtcDatetime = Field(default_factory=utc_now)

    @model_validator(mode="before")
    @classmethod
    def _without_embedding(cls, given: Any) -> Any:
        """Drops `embedding`, which memories of alma-memory have: vectors belong to the store."""
        if isinstance(given, _MAPPINGS) and "embedding" in given:
            return {name: value for name, value in given.items() if name != "embedding"}
        return given

    @property
    @abstractmethod
    def text(self) -> str:
        """Main text of the memory: embedded and searched."""

    @property
    def keywords(self) -> str:
        """Further words: searched, not embedded."""
        return ""

    def described(self, now: datetime | None) -> str:
        """Returns the memory's line in a prompt, without its age if `now` is `None`. Stored text in it is not defused yet."""
        return brief(self.text)

    @property
    def seen_at(self) -> UtcDatetime:
        """Time that recency counts from."""
        spec = KINDS.get(self.kind)  # type: ignore[call-overload] # a member of the enumeration equals its text
        return getattr(self, spec.time_field) if spec else self.updated_at

    @property
    def successes(self) -> float | None:
        """Successes among `trials`; `None` for a kind without a record."""
        return None

    @property
    def trials(self) -> float | None:
        """Number of trials; `None` for a kind without a record."""
        return None


class _Counted(Memory):
    """A memory whose record is two counts."""

    occurrence_count: Count = 0
    success_count: Count = 0

    @property
    def successes(self) -> float:
        return float(self.success_count)

    @property
    def trials(self) -> float:
        return float(self.occurrence_count)


class Heuristic(_Counted):
    """A strategy that works under a condition, with its record."""

    kind: Literal["heuristic"] = "heuristic"
    condition: str
    strategy: str
    last_validated: UtcDatetime = Field(default_factory=utc_now)

    @property
    def success_rate(self) -> float:
        """Share of successes, 0.0 when it was never tried."""
        return self.success_count / self.occurrence_count if self.occurrence_count else 0.0

    @property
    def text(self) -> str:
        return f"{self.condition}: {self.strategy}"

    def described(self, now: datetime | None) -> str:
        if self.metadata.get("learned"):
            return f"{brief(self.strategy)}: {self.record(now)}"
        return f"{brief(self.condition)}: {brief(self.strategy)} ({self.record(now)})"

    def record(self, now: datetime | None) -> str:
        """Returns what became of the strategy, in the words of a prompt: "worked 3 of 5 times (4 tasks)"."""
        counts = self.success_count, self.occurrence_count
        if self.metadata.get("learned"):
            return _record(self.metadata, *counts, self.last_validated, now)
        before = "" if self.occurrence_count else _runs_of_lesson(self.metadata)
        return before + sentences.stated_record(*counts, self.last_validated, now, self.metadata)


class Outcome(Memory):
    """The result of one task or step.

    `task_id` identifies the task where its words do not; `difficulty` is its known difficulty; `verdict_source` says who judged.
    `success=True` or `success=False` may be given in place of `outcome`.
    """

    kind: Literal["outcome"] = "outcome"
    task_type: str | None = None
    task_id: str | None = None
    difficulty: str | None = None
    verdict_source: VerdictSource = VerdictSource.CALLER
    task_description: str
    outcome: Verdict = Verdict.UNVERIFIED
    strategy_used: str = ""
    duration_ms: Annotated[int, Field(ge=0)] | None = None
    error_message: str | None = None
    user_feedback: str | None = None
    timestamp: UtcDatetime = Field(default_factory=utc_now)

    @model_validator(mode="before")
    @classmethod
    def _judged(cls, given: Any) -> Any:
        """Turns `success` into `outcome`."""
        if not isinstance(given, _MAPPINGS) or "success" not in given:
            return given
        rest = {name: value for name, value in given.items() if name != "success"}
        if "outcome" in rest or not isinstance(given["success"], bool):
            raise ValueError("success must be True or False, and stands in place of outcome")
        return {**rest, "outcome": Verdict.SUCCESS if given["success"] else Verdict.FAILURE}

    @property
    def success(self) -> bool:
        """True when it was judged a success; `partial` and `unverified` are not."""
        return self.outcome is Verdict.SUCCESS

    @property
    def text(self) -> str:
        return self.task_description

    @property
    def keywords(self) -> str:
        return "\n".join(part for part in (self.strategy_used, self.error_message, self.user_feedback) if part)

    def described(self, now: datetime | None) -> str:
        when = "" if now is None else f", {sentences.age(self.timestamp, now)}"
        error = None if sentences.ends_with(self.strategy_used, self.error_message) else self.error_message
        of_error = "Error on the way" if self.success else "Error"
        parts = {"Way": self.strategy_used, of_error: error, "Feedback": self.user_feedback}
        labelled = [sentences.labelled(label, text) for label, text in parts.items() if text]
        verdicts = sentences.VERDICTS_OF_STEPS if isinstance(self.metadata.get("step"), int) else sentences.VERDICTS
        first = f"{verdicts[self.outcome]}{when}: {brief(self.task_description)}"
        return " | ".join([first, *labelled, *sentences.of_attempt(self.metadata)])

    @property
    def successes(self) -> float | None:
        return WORTH.get(self.outcome)

    @property
    def trials(self) -> float | None:
        return None if self.outcome is Verdict.UNVERIFIED else 1.0


class UserPreference(Memory):
    """A constraint that a user set. It belongs to the user; `agent` is the agent that recorded it, if any."""

    kind: Literal["user_preference"] = "user_preference"
    user_id: Name
    category: str
    preference: str
    source: str = "explicit_instruction"
    timestamp: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return f"{self.category}: {self.preference}"

    def described(self, now: datetime | None) -> str:
        since = "" if now is None else f" (stated {sentences.dated(self.timestamp, now)})"
        return f"{brief(self.category)}: {brief(self.preference)}{since}"


class DomainKnowledge(Memory):
    """A fact."""

    kind: Literal["domain_knowledge"] = "domain_knowledge"
    domain: str
    fact: str
    source: str = "user_stated"
    last_verified: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return self.fact

    @property
    def keywords(self) -> str:
        return self.domain

    def described(self, now: datetime | None) -> str:
        since = "" if now is None else f" (as of {sentences.dated(self.last_verified, now)})"
        return f"{brief(self.domain)}: {brief(self.fact)}{since}"


class AntiPattern(_Counted):
    """A way that fails, why, and a better one (`None` where none is known).

    `occurrence_count` counts its failures, `success_count` its successes.
    """

    kind: Literal["anti_pattern"] = "anti_pattern"
    pattern: str
    why_bad: str
    better_alternative: str | None = None
    occurrence_count: Count = 1
    last_seen: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return self.pattern

    @property
    def keywords(self) -> str:
        return "\n".join(part for part in (self.why_bad, self.better_alternative) if part)

    def described(self, now: datetime | None) -> str:
        if self.metadata.get("learned"):
            return f"{brief(self.pattern)}: {self.record(now)}"
        instead = f"Instead do: {sentences.ended(brief(self.better_alternative))} " if self.better_alternative else ""
        pattern = brief(self.pattern)
        if not sentences.ends_with(self.pattern, self.why_bad):
            pattern = f"{sentences.ended(pattern)} Why: {brief(self.why_bad)}"
        return f"{instead}Avoid: {pattern} ({self.record(now)})"

    def record(self, now: datetime | None) -> str:
        """Returns what became of the way, in the words of a prompt: "failed 3 of 4 times (2 tasks); instead: …"; of a stated one, how often it
        was seen."""
        if not self.metadata.get("learned"):
            when = "" if now is None else f", last {sentences.age(self.last_seen, now)}"
            return f"seen {sentences.times(self.occurrence_count)}{when}"
        counts = self.success_count, self.occurrence_count + self.success_count + _number(self.metadata, "partials")
        is_said = not self.metadata.get("error") or sentences.ends_with(self.pattern, self.why_bad)
        why = None if is_said else self.why_bad
        return _record(self.metadata, *counts, self.last_seen, now, why_bad=why, instead=self.better_alternative)


def _record(
    metadata: Mapping[str, Any],
    successes: int,
    trials: int,
    last: datetime,
    now: datetime | None,
    *,
    why_bad: str | None = None,
    instead: str | None = None,
) -> str:
    """The record of a learned rule, whose further counts its metadata has."""
    return sentences.describe_record(
        successes=successes,
        trials=trials,
        partials=_number(metadata, "partials"),
        tasks=_number(metadata, "tasks"),
        last_run=_number(metadata, "last_run"),
        last=last,
        now=now,
        where=sentences.AS_A_STEP if metadata.get("step") else "",
        why_bad=why_bad,
        instead=instead,
    )


def _runs_of_lesson(metadata: Mapping[str, Any]) -> str:
    """Returns how the runs went of which a lesson was made, "" where that is not known: in fixed words, whatever was stored there."""
    lesson = metadata.get(LESSON)
    runs = lesson.get("runs") if isinstance(lesson, _MAPPINGS) else None
    if not isinstance(runs, list | tuple) or [type(each) for each in runs] != [int] * 4:
        return ""
    return "{} of {} runs with it succeeded, {} of {} without it; since then ".format(*runs)


def _number(metadata: Mapping[str, Any], name: str) -> int:
    value = metadata.get(name)
    return value if isinstance(value, int) else 0


ROLES_OF_OTHERS = frozenset({"assistant", "ai", "model", "bot", "chatbot", "gpt", "tool", "function"})
"""Roles whose words are not people's own."""

_ROLES = ROLES_OF_OTHERS.union(
    """
    user human person speaker participant agent customer client support operator moderator host guest caller interviewer interviewee
    doctor patient teacher student manager employee narrator
    """.split()  # noqa: SIM905 - a list of words reads best as words
)


class Turn(NamedTuple):
    """A turn of one speaker in a conversation. `is_own` is True for people's words; those of an assistant or a tool weigh less."""

    speaker: str
    text: str
    is_own: bool = True


class Conversation(Memory):
    """A conversation, searched by its sentences. `session_id` is the caller's name for it, `held_at` when it took place."""

    kind: Literal["conversation"] = "conversation"
    session_id: str
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    held_at: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return "\n".join(turn.text for turn in self.turns)

    @property
    def names(self) -> frozenset[str]:
        """The names of the speakers; the roles that stand where a speaker has none are left out."""
        return frozenset(turn.speaker for turn in self.turns if turn.speaker.lower() not in _ROLES)

    def pieces(self) -> list[tuple[Turn, str]]:
        """Returns what is searched on its own, with its turn: sentences of people's words, longer pieces of others'.

        A piece stands at the position of its passage.
        """
        return [(turn, piece) for turn in self.turns for piece in (sentences_of if turn.is_own else split_passages)(turn.text)]

    def described(self, now: datetime | None) -> str:
        when = "" if now is None else f"{sentences.age(self.held_at, now)}: "
        return f"{when}{sentences.hits_of(self.metadata) or brief(self.text)}"


class CustomMemory(Memory):
    """A memory of a kind that a user defined. Its `fields` can be read as attributes too: `memory.title`.

    `definition` is the kind's definition, so that the value can be read anywhere. An optional field that was left out is `None`.
    """

    fields: dict[str, Any]
    definition: CustomMemoryType

    @model_validator(mode="before")
    @classmethod
    def _revive(cls, given: Any) -> Any:
        """Restores times that JSON carries as text."""
        if not isinstance(given, Mapping):
            return given
        definition, fields = given.get("definition"), given.get("fields")
        if not isinstance(definition, CustomMemoryType):
            definition = CustomMemoryType.model_validate(definition)
        if given.get("kind", definition.name) != definition.name or not isinstance(fields, Mapping):
            raise ValueError(f"a memory of kind {definition.name!r} is needed, with a mapping of its fields")
        return {**given, "kind": definition.name, "definition": definition, "fields": definition.revived(fields)}

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"a {self.__dict__.get('kind', 'memory')} has no field {name!r}")

    @property
    def text(self) -> str:
        return self.definition.text(self.fields)

    @property
    def keywords(self) -> str:
        return self.definition.keywords(self.fields)

    def described(self, now: datetime | None) -> str:
        about = self.definition.embedding_fields
        rest = {name: value for name, value in self.definition.plain(self.fields).items() if name not in about}
        lines = [brief(self.text), *(f"{name}: {brief(sentences.value_of(value))}" for name, value in rest.items())]
        return f"{self.kind.replace('_', ' ')}: {' | '.join(lines)}"


_BUILT_IN = tuple(kind.value for kind in MemoryType)


def _tag(memory: Any) -> str:
    kind = memory.get("kind") if isinstance(memory, _MAPPINGS) else getattr(memory, "kind", None)
    return str(kind) if kind in _BUILT_IN else "custom"


AnyMemory = Annotated[
    Annotated[Heuristic, Tag("heuristic")]
    | Annotated[Outcome, Tag("outcome")]
    | Annotated[UserPreference, Tag("user_preference")]
    | Annotated[DomainKnowledge, Tag("domain_knowledge")]
    | Annotated[AntiPattern, Tag("anti_pattern")]
    | Annotated[Conversation, Tag("conversation")]
    | Annotated[CustomMemory, Tag("custom")],
    Discriminator(_tag),
]
"""Any kind of memory, distinguished by `kind`: the built-in ones, and those that users defined."""

MEMORY_CLASSES: Mapping[str, type[Memory]] = {
    "heuristic": Heuristic,
    "outcome": Outcome,
    "user_preference": UserPreference,
    "domain_knowledge": DomainKnowledge,
    "anti_pattern": AntiPattern,
    "conversation": Conversation,
}
"""Classes of the built-in kinds."""

_ADAPTER: TypeAdapter[AnyMemory] = TypeAdapter(AnyMemory)


def memory_from_json(data: str | bytes) -> AnyMemory:
    """Reads a memory that `memory.model_dump_json()` wrote. Raises `pydantic.ValidationError` when it is none."""
    return _ADAPTER.validate_json(data)


class Passage(Value):
    """A piece of a memory's text.

    `is_own` marks the owner's own words (a user's, the memory's). Words of others (an assistant's, a tool's) weigh less and are not
    embedded beside own ones. `keywords` are only searched by word. `speaker` is never part of the embedded text.
    """

    text: Annotated[str, Field(min_length=1)]
    keywords: str = ""
    speaker: str = ""
    position: Annotated[int, Field(ge=0)] = 0
    time: UtcDatetime | None = None
    is_own: bool = True


class Draft(Value):
    """A memory to store with passages that the caller chose, say the turns of a conversation."""

    memory: Memory
    passages: Annotated[tuple[Passage, ...], Field(min_length=1)]


def embedded(passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages that get vectors: the owner's own; all, where none is its own. The others are found by their words."""
    return [passage for passage in passages if passage.is_own] or list(passages)


def passages_of(memory: Memory) -> tuple[Passage, ...]:
    """Returns the passages of a memory that was given without any: its text in pieces that fit a model, keywords on the first."""
    pieces = split_passages(memory.text)
    return tuple(
        Passage(text=piece, position=position, keywords="" if position else memory.keywords)
        for position, piece in enumerate(pieces)
    )
