"""The counts behind rules, as values: one for each agent, class of task, and strategy."""

from dataclasses import dataclass, field
from hashlib import sha256

from alma.evidence import Tally
from alma.text import spelt

WHOLE_CLASS = ""
"""The strategy hash of the evidence on a class as a whole, whatever was tried."""

BY_TYPE, BY_TASK, STEP = "type:", "task:", "step:"
"""How a class of tasks is named: by its type, or by the first task of it. Steps of an attempt make a class apart from the attempts."""

_OF_STEPS, _OF_TASKS = "s", "t"
_DIGITS = 16

Happening = tuple[str, int, int]
"""Something that repeats: what it was, how often, and since when or when last, in microseconds."""
AgentClass = tuple[str, str]
"""An agent, and the name of a class of its tasks."""

Told = tuple[str, str | None]
"""What an anti-pattern says: why it is bad, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a strategy in a class of tasks, or of the class as a whole. `task` stands for the class; the first evidence on it has it.

    `lifetime` counts are shown, `operative` ones, as they were at `observed_at` (microseconds), decide. Of outcomes that nobody judged there is
    only the number. `recent` is the last run of equal events, `reasons` the errors that were recorded. A rule that rests on this is named by
    its memory's id, with how far it is believed.
    """

    id: str
    agent: str
    task_class: str
    strategy_hash: str
    strategy: str
    lifetime: Tally = field(default_factory=Tally)
    operative: Tally = field(default_factory=Tally)
    unverified: int = 0
    observed_at: int = 0
    recent: tuple[Happening, ...] = ()
    reasons: tuple[Happening, ...] = ()
    heuristic: str | None = None
    heuristic_status: str | None = None
    anti_pattern: str | None = None
    anti_pattern_status: str | None = None
    task: str | None = None

    @property
    def observations(self) -> float:
        """How many outcomes it was made of, those included that nobody judged."""
        return self.lifetime.trials + self.unverified

    @property
    def is_whole_class(self) -> bool:
        """Whether this is about the class, not about one strategy."""
        return self.strategy_hash == WHOLE_CLASS


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """Evidence as it was read. If it is not stored by itself, it follows from the only outcome of its class."""

    is_stored: bool
    evidence: Evidence


def own_class(task_type: str | None, task: str, *, is_step: bool) -> str:
    """The class that a task makes if it belongs to no other: by its type, if it has one."""
    name = f"{BY_TASK}{text_key(task)}" if task_type is None else f"{BY_TYPE}{spelt(task_type)}"
    return f"{STEP}{name}" if is_step else name


def tasks_id(agent: str, task_class: str) -> str:
    """What the ids of all evidence on an agent's tasks of a class begin with, and on steps of them: 16 hexadecimal digits."""
    return sha256(f"{agent}\0{task_class.removeprefix(STEP)}".encode()).hexdigest()[:_DIGITS]


def class_id(agent: str, task_class: str) -> str:
    """What the ids of all evidence on a class begin with; that on the class as a whole has no more."""
    return tasks_id(agent, task_class) + (_OF_STEPS if task_class.startswith(STEP) else _OF_TASKS)


def evidence_id(agent: str, task_class: str, strategy_hash: str) -> str:
    """The id of evidence: the same whoever asks and whenever, before there is any."""
    return class_id(agent, task_class) + strategy_hash


def class_in(evidence: str) -> str:
    """The `class_id` that an id of evidence begins with."""
    return evidence[: _DIGITS + 1]


def is_of_steps(evidence: str) -> bool:
    """Whether an id is that of evidence on steps of attempts."""
    return class_in(evidence).endswith(_OF_STEPS)


def text_key(text: str) -> str:
    """A short key, 16 hexadecimal digits, of a text as it is spelt: the same for texts that differ in case and punctuation alone."""
    return sha256(spelt(text).encode()).hexdigest()[:16]
