"""The kinds of memory, as frozen values.

What every kind answers beside its own fields: `text` (what it is about, embedded and searched), `keywords` (further words, searched but not
embedded), `seen_at` (the moment its recency counts from), `successes` of `trials` (its record, `None` where it has none).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, model_validator

from alma.types.custom import CustomMemoryType
from alma.types.identity import UtcDatetime, new_id, utc_now
from alma.types.kinds import MemoryType, Verdict, VerdictSource

Name = Annotated[str, Field(min_length=1, max_length=200)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class Memory(BaseModel, ABC):
    """What all kinds share. `id` is a UUIDv7; times are aware UTC; `confidence` is in [0, 1]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    id: str = Field(default_factory=new_id)
    agent: str = ""
    project_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    confidence: Share = 1.0
    created_at: UtcDatetime = Field(default_factory=utc_now)
    updated_at: UtcDatetime = Field(default_factory=utc_now)

    @property
    @abstractmethod
    def text(self) -> str:
        """What the memory is about: embedded and searched."""

    @property
    def keywords(self) -> str:
        """Further words: searched, not embedded."""
        return ""

    @property
    def seen_at(self) -> UtcDatetime:
        """The moment that recency counts from."""
        return self.updated_at

    @property
    def successes(self) -> float | None:
        """Successes among `trials`; `None` for a kind without a record."""
        return None

    @property
    def trials(self) -> float | None:
        """How often it was tried; `None` for a kind without a record."""
        return None


class Heuristic(Memory):
    """A strategy that works under a condition, with its record."""

    kind: Literal["heuristic"] = "heuristic"
    condition: str
    strategy: str
    occurrence_count: Count = 0
    success_count: Count = 0
    last_validated: UtcDatetime = Field(default_factory=utc_now)

    @property
    def success_rate(self) -> float:
        """Share of successes, 0.0 when it was never tried."""
        return self.success_count / self.occurrence_count if self.occurrence_count else 0.0

    @property
    def text(self) -> str:
        return f"{self.condition}: {self.strategy}"

    @property
    def seen_at(self) -> UtcDatetime:
        return self.last_validated

    @property
    def successes(self) -> float:
        return float(self.success_count)

    @property
    def trials(self) -> float:
        return float(self.occurrence_count)


class Outcome(Memory):
    """What happened in one task or step.

    `task_id` names the task where its words do not, `difficulty` how hard it was known to be; `verdict_source` says who judged.
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

    @property
    def success(self) -> bool:
        """Whether it was judged a success; `partial` and `unverified` are not."""
        return self.outcome is Verdict.SUCCESS

    @property
    def text(self) -> str:
        return self.task_description

    @property
    def keywords(self) -> str:
        return "\n".join(part for part in (self.strategy_used, self.error_message, self.user_feedback) if part)

    @property
    def seen_at(self) -> UtcDatetime:
        return self.timestamp

    @property
    def successes(self) -> float | None:
        return {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}.get(self.outcome)

    @property
    def trials(self) -> float | None:
        return None if self.outcome is Verdict.UNVERIFIED else 1.0


class UserPreference(Memory):
    """A constraint that a user set. Belongs to the user; `agent` is who wrote it down, if anyone."""

    kind: Literal["user_preference"] = "user_preference"
    user_id: Name
    category: str
    preference: str
    source: str = "explicit_instruction"
    timestamp: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return f"{self.category}: {self.preference}"

    @property
    def seen_at(self) -> UtcDatetime:
        return self.timestamp


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

    @property
    def seen_at(self) -> UtcDatetime:
        return self.last_verified


class AntiPattern(Memory):
    """What not to do, why, and what to do instead (`None` where nothing better is known).

    `occurrence_count` is how often it went wrong, `success_count` how often it went well all the same.
    """

    kind: Literal["anti_pattern"] = "anti_pattern"
    pattern: str
    why_bad: str
    better_alternative: str | None = None
    occurrence_count: Count = 1
    success_count: Count = 0
    last_seen: UtcDatetime = Field(default_factory=utc_now)

    @property
    def text(self) -> str:
        return self.pattern

    @property
    def keywords(self) -> str:
        return "\n".join(part for part in (self.why_bad, self.better_alternative) if part)

    @property
    def seen_at(self) -> UtcDatetime:
        return self.last_seen

    @property
    def successes(self) -> float:
        return float(self.success_count)

    @property
    def trials(self) -> float:
        return float(self.occurrence_count)


class CustomMemory(Memory):
    """A memory of a kind that a user defined. Its `fields` can be read as attributes too: `memory.title`.

    `definition` is what the kind is, so that the value can be read anywhere; a field that may be left out and was, is `None`.
    """

    fields: dict[str, Any]
    definition: CustomMemoryType

    @model_validator(mode="before")
    @classmethod
    def _revive(cls, given: Any) -> Any:
        """What JSON carried as text becomes the time that it was."""
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


_BUILT_IN = tuple(kind.value for kind in MemoryType)


def _tag(memory: Any) -> str:
    kind = memory.get("kind") if isinstance(memory, Mapping) else getattr(memory, "kind", None)
    return str(kind) if kind in _BUILT_IN else "custom"


AnyMemory = Annotated[
    Annotated[Heuristic, Tag("heuristic")]
    | Annotated[Outcome, Tag("outcome")]
    | Annotated[UserPreference, Tag("user_preference")]
    | Annotated[DomainKnowledge, Tag("domain_knowledge")]
    | Annotated[AntiPattern, Tag("anti_pattern")]
    | Annotated[CustomMemory, Tag("custom")],
    Discriminator(_tag),
]
"""Any kind of memory, told apart by `kind`: the built-in ones, and those that users defined."""

MEMORY_CLASSES: Mapping[str, type[Memory]] = {
    "heuristic": Heuristic,
    "outcome": Outcome,
    "user_preference": UserPreference,
    "domain_knowledge": DomainKnowledge,
    "anti_pattern": AntiPattern,
}
"""The built-in kinds."""

_ADAPTER: TypeAdapter[AnyMemory] = TypeAdapter(AnyMemory)


def memory_from_json(data: str | bytes) -> AnyMemory:
    """The memory that `memory.model_dump_json()` wrote. A `pydantic.ValidationError` when it is none."""
    return _ADAPTER.validate_json(data)
