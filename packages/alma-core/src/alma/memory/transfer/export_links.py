"""References between the lines of an export: from outcomes and rules to evidence, and from evidence to the rules that it formed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from alma.errors import ValidationError
from alma.observing import only
from alma.storage.relational.evidence import evidence_from
from alma.text import quoted
from alma.types.evidence import Evidence, class_in, is_of_steps
from alma.types.exported import ExportedEvidence, ExportedMemory
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import Memory, Outcome
from alma.types.partition import owner_name
from alma.types.soundness import fault_in_evidence

CLOCKS_DIFFER = 86_400_000_000
"""Tolerance in microseconds between two clocks: a day."""

RULES = {"heuristic": MemoryType.HEURISTIC.value, "anti_pattern": MemoryType.ANTI_PATTERN.value}
"""Columns of evidence that name a rule, with the kind of that memory."""


@dataclass(frozen=True, slots=True)
class Resting:
    """A memory that refers to evidence."""

    kind: str
    owner: str
    evidence: str

    @property
    def is_rule(self) -> bool:
        """True for a rule that the evidence formed, false for an outcome that it counts."""
        return self.kind in RULES.values()


@dataclass(slots=True)
class Links:
    """The references in a file: memories that refer to evidence, and the evidence, by their ids.

    An outcome that is alone in its class has no evidence in the file, because it contains all the evidence: `alone` has what it says.
    """

    memories: dict[str, Resting] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    rules: dict[str, tuple[str, str]] = field(default_factory=dict)
    alone: dict[str, Evidence] = field(default_factory=dict)
    counted: dict[str, Evidence] = field(default_factory=dict)

    def take_memory(self, line: ExportedMemory, memory: Memory) -> None:
        """Notes a memory, as a line and as a value."""
        if line.evidence is None:
            return
        self.memories[line.id] = Resting(line.kind, owner_name(line.agent, memory.user_id), line.evidence)
        if isinstance(memory, Outcome):
            first = min(line.passages, key=lambda passage: passage.position)
            seen = only(memory, first.text, is_step=is_of_steps(line.evidence))
            if seen.id == line.evidence:
                self.alone[line.id] = seen

    def take_evidence(self, line: ExportedEvidence, evidence: Evidence) -> None:
        """Notes evidence, as a line and as a value. `ValidationError` if two name one rule."""
        self.agents[line.id] = line.agent
        self.counted[line.id] = evidence
        for column, kind in RULES.items():
            rule = getattr(line, column)
            if rule is not None and self.rules.setdefault(rule, (line.id, kind)) != (line.id, kind):
                raise ValidationError(f"evidence {quoted(line.id)} names a rule, {quoted(rule)}, of other evidence")

    def check(self) -> None:
        """Raises `ValidationError` unless all evidence referred to is in the file and of the same agent, and rules refer to their own
        evidence."""
        classes = {class_in(key) for key, evidence in self.counted.items() if evidence.observations}  # others hold a rule alone
        for memory_id, memory in self.memories.items():
            if memory.evidence in self.agents:
                self.alone.pop(memory_id, None)
            elif memory_id in self.alone and class_in(memory.evidence) not in classes:
                classes.add(class_in(memory.evidence))
                continue
            if self.agents.get(memory.evidence) != memory.owner:
                raise ValidationError(f"memory {quoted(memory_id)} rests on evidence that is not there or of another owner")
        for rule, (evidence, kind) in self.rules.items():
            known = self.memories.get(rule)
            if known is not None and (known.evidence, known.kind) != (evidence, kind):
                raise ValidationError(f"evidence {quoted(evidence)} names a rule, {quoted(rule)}, that does not rest on it")


def checked_evidence(line: ExportedEvidence, exported_at: datetime) -> Evidence:
    """Returns the evidence of a line. `ValidationError` unless learning could have produced it by then."""
    observed_at = to_micros(line.observed_at)
    evidence = evidence_from({**line.model_dump(exclude={"type"}), "observed_at": observed_at})
    if fault := fault_in_evidence(evidence):
        raise ValidationError(f"evidence {quoted(line.id)} is none: {fault}")
    if observed_at > to_micros(exported_at) + CLOCKS_DIFFER:
        raise ValidationError(f"evidence {quoted(line.id)} was observed after the file was written")
    return evidence


def with_rules_at_hand(line: ExportedEvidence, is_stored: Callable[[str], bool]) -> ExportedEvidence:
    """Returns the evidence with only those names of rules that are stored with it. Other rules are gone, or belong to another owner."""
    gone = {column: None for column in RULES if (rule := getattr(line, column)) is not None and not is_stored(rule)}
    return line.model_copy(update=gone) if gone else line
