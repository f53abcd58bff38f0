"""Values of a reflection: lessons, what became of them, and the result."""

from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict

CANDIDATE, LIKELY, RETIRED = "candidate", "likely", "retired"
"""How far a lesson is believed. None is ever proven: a rule that outcomes prove is learned by itself."""


class Rejected(TypedDict):
    """A lesson that was not taken, in words, and why."""

    lesson: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Judged episodes in which a lesson was shown and cited: successes, partial ones as a half, and all."""

    successes: float = 0.0
    trials: int = 0


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson of runs of like tasks: under a condition `when`, `do` something, or `avoid` it; exactly one of the two is set.

    `cites` are the ids of the outcomes that it was made of; they never count as its evidence. `with_it` and `without_it` are successes and runs
    at the time, and `p` the exact probability of such a difference by chance, where it was found by counting; a language model's has none.
    `id` is that of its memory, the same each time, also before that is stored.
    """

    id: str
    title: str
    when: str
    do: str | None
    avoid: str | None
    because: str
    cites: tuple[str, ...]
    method: str = "steps"
    status: str = CANDIDATE
    evidence: Evidence = field(default_factory=Evidence)
    with_it: tuple[int, int] | None = None
    without_it: tuple[int, int] | None = None
    p: float | None = None

    @property
    def action(self) -> str:
        """The action to do or to avoid."""
        return self.do or self.avoid or ""

    def __str__(self) -> str:
        verb = "do" if self.do else "avoid"
        cited = f"; cited in {self.evidence.trials} runs, {self.evidence.successes:g} succeeded" if self.evidence.trials else ""
        return f"[{self.status}] {self.when}: {verb}: {self.action} ({self.because}{cited})"


@dataclass(frozen=True, slots=True)
class ReflectionResult:
    """Result of a reflection on `runs` judged runs of `kinds` kinds of task.

    `lessons` are the new ones, `known` those that were there, with what became of them, `retired` the ids of those that evidence spoke against.
    `rejected` and `errors` say what a language model wrote or failed at and was not taken. `journal_seq` is the journal record, `None` where
    nothing was written; `alma.undo(journal_seq - 1)` takes it back.
    """

    dry_run: bool = True
    method: str = "steps"
    runs: int = 0
    kinds: int = 0
    lessons: tuple[Lesson, ...] = ()
    known: tuple[Lesson, ...] = ()
    retired: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    errors: tuple[str, ...] = ()
    journal_seq: int | None = None
    llm_calls: int = 0
    tokens: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        verb = "would be noted" if self.dry_run else "noted"
        said = [f"{self.runs} runs of {self.kinds} kinds of task: {len(self.lessons)} lessons {verb}, {len(self.known)} known"]
        said += [f"{len(self.retired)} {'would be ' if self.dry_run else ''}retired"] if self.retired else []
        said += [f"{len(self.rejected)} rejected"] if self.rejected else []
        return "; ".join([*said, *self.errors])
