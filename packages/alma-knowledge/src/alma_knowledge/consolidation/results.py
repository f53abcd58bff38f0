"""Results of a consolidation, and its errors."""

from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict

from alma.errors import AlmaError


class ConsolidationError(AlmaError):
    """Memories could not be consolidated. Nothing was stored."""


class Merge(TypedDict):
    """Memories that became one: the ids of all, and the id of the one that stays."""

    merged_from: list[str]
    merged_into: str
    count: int


class Apart(TypedDict):
    """Near memories that were not merged, and why: "unsure" ones may be one."""

    ids: list[str]
    reason: str


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """Result of a consolidation. `merged_count` is how many memories are fewer, or would be in a dry run.

    `kept_apart` lists near pairs, the nearest first, at most 1,000; `contradictions` those that a language model found to exclude each other.
    `errors` says what the model failed at: the rules then decided.
    `named` counts the wordings of strategies that got a common name. `journal_seq` is the journal record, `None` where nothing was written;
    `alma.undo(journal_seq - 1)` takes it back.
    """

    dry_run: bool = True
    method: str = "rules"
    memories_processed: int = 0
    groups_found: int = 0
    merged_count: int = 0
    named: int = 0
    merge_details: list[Merge] = field(default_factory=list)
    kept_apart: list[Apart] = field(default_factory=list)
    contradictions: list[Apart] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    journal_seq: int | None = None
    llm_calls: int = 0
    tokens: int = 0

    @property
    def success(self) -> bool:
        """True when nothing failed."""
        return not self.errors

    @property
    def unsure(self) -> list[Apart]:
        """The pairs that only a person or a language model can judge."""
        return [each for each in self.kept_apart if each["reason"] == "unsure"]

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain values."""
        return {**asdict(self), "success": self.success}

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        said = [f"{self.memories_processed} memories: {self.merged_count} {would}merged into {self.groups_found} others"]
        said += [f"{self.named} wordings {would}named"] if self.named else []
        said += [f"{len(self.kept_apart)} near pairs kept apart, {len(self.unsure)} of them unsure"] if self.kept_apart else []
        said += [f"{len(self.contradictions)} contradictions {would}marked"] if self.contradictions else []
        return "; ".join([*said, *self.errors])
