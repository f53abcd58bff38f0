"""The counts behind rules, as values: one for each agent, class of task, and strategy."""

from dataclasses import dataclass, field, replace
from hashlib import sha256

from alma.evidence import Tally
from alma.text import spelt
from alma.types.partition import agent_in, user_in

NO_STRATEGY = ""
"""Strategy hash of the evidence on attempts that named no strategy."""

BY_TYPE, BY_TASK, STEP, UNTRUSTED = "type:", "task:", "step:", "said:"
"""Prefixes of a task's place: with its type, or without. Steps are kept apart from attempts by a prefix, and so is evidence that rests on
an agent's own word or on a foreign file."""

_OF_STEPS, _OF_TASKS = "s", "t"
_DIGITS = 16
_APART = "  "
"""Separates the type of a task from its difficulty. Normalised text never has two spaces in a row."""

Happening = tuple[str, int, int]
"""A repeated event: its text, its count, and when it began or was last seen, in microseconds."""
TaskPlace = tuple[str, str]
"""An owner, and the place of one of its tasks: see `task_place`."""

AntiPatternText = tuple[str, str | None]
"""Text of an anti-pattern: why it is bad, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One cell of the ledger: the counts of a strategy for a task of an owner. Without a strategy it is about attempts that named none.

    `owner` is an agent, or an agent for one of its users (see `alma.types.partition.owner_name`).
    `lifetime` counts are shown, `operative` ones are discounted, as of `observed_at` (microseconds). Unjudged outcomes are only counted.
    `recent` is the last run of equal events, `reasons` the recorded errors. A rule that this cell formed is named by its memory's id,
    with its standing.
    """

    id: str
    owner: str
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
    def agent(self) -> str:
        """The agent that tried it."""
        return agent_in(self.owner)

    @property
    def user_id(self) -> str | None:
        """The user for whom it was tried, if it was for one."""
        return user_in(self.owner)

    def without_rules(self, *, task: str, reasons: tuple[Happening, ...]) -> "Evidence":
        """Returns the counts alone, with other words for the task and the errors."""
        return replace(
            self,
            task=task,
            reasons=reasons,
            recent=(),
            heuristic=None,
            heuristic_status=None,
            anti_pattern=None,
            anti_pattern_status=None,
        )

    def without_rule(self, rule: str) -> "Evidence":
        """Returns the evidence without a rule that rested on it, by its id."""
        is_heuristic = self.heuristic == rule
        return (
            replace(self, heuristic=None, heuristic_status=None)
            if is_heuristic
            else replace(self, anti_pattern=None, anti_pattern_status=None)
        )

    @property
    def observations(self) -> float:
        """Number of counted outcomes, also unjudged ones."""
        return self.lifetime.trials + self.unverified

    @property
    def names_strategy(self) -> bool:
        """True for evidence about a strategy."""
        return self.strategy_hash != NO_STRATEGY

    @property
    def is_of_steps(self) -> bool:
        """True for evidence about steps of attempts."""
        return self.task_class.startswith(STEP)

    @property
    def is_trusted(self) -> bool:
        """True when it rests on more than an agent's own word or a foreign file."""
        return not self.task_class.removeprefix(STEP).startswith(UNTRUSTED)


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """Evidence as read from the store. Where it is not stored itself, it is derived from the only outcome of its task.

    `first` is the row of that outcome and how successful it was, where it is at hand: see `alma.protocols.Learned.first_outcomes`.
    """

    is_stored: bool
    evidence: Evidence
    first: tuple[int, float | None] | None = field(default=None, compare=False)


def task_place(
    task_type: str | None,
    task: str,
    *,
    task_id: str | None = None,
    difficulty: str | None = None,
    is_step: bool,
    is_trusted: bool,
) -> str:
    """Returns the place of a task: its type, and a key of its id or of its words. Equal for tasks that differ in case and punctuation
    only."""
    key = text_key(task if task_id is None else f"{task_id}\0id")
    kind = BY_TASK.removesuffix(":") if task_type is None else f"{BY_TYPE}{spelt(task_type)}"
    hardness = "" if difficulty is None else f"{_APART}{spelt(difficulty)}"
    return f"{STEP if is_step else ''}{'' if is_trusted else UNTRUSTED}{kind}{hardness}:{key}"


def bare_place(place: str) -> str:
    """Returns the place of a task without the prefixes for steps and untrusted evidence, so that the same task has one place."""
    return place.removeprefix(STEP).removeprefix(UNTRUSTED)


def type_of(place: str) -> str | None:
    """Returns the type of a task, in lower case; `None` if none was given."""
    name = bare_place(place)
    return name.removeprefix(BY_TYPE).rpartition(":")[0].partition(_APART)[0] if name.startswith(BY_TYPE) else None


def difficulty_of(place: str) -> str | None:
    """Returns the known difficulty of a task, in lower case; `None` if none was given."""
    return bare_place(place).rpartition(":")[0].partition(_APART)[2] or None


def tasks_id(owner: str, task_class: str) -> str:
    """Returns the prefix of the ids of all evidence on a task of an owner and on steps of it: 16 hexadecimal digits."""
    return sha256(f"{owner}\0{task_class.removeprefix(STEP)}".encode()).hexdigest()[:_DIGITS]


def class_id(owner: str, task_class: str) -> str:
    """Returns the prefix of the ids of all evidence on a task of an owner. It is the whole id of evidence on attempts without a
    strategy."""
    return tasks_id(owner, task_class) + (_OF_STEPS if task_class.startswith(STEP) else _OF_TASKS)


def evidence_id(owner: str, task_class: str, strategy_hash: str) -> str:
    """Returns the id of evidence. It depends only on the arguments, so it is known before the evidence exists."""
    return class_id(owner, task_class) + strategy_hash


def class_in(evidence: str) -> str:
    """Returns the `class_id` that an id of evidence begins with."""
    return evidence[: _DIGITS + 1]


def strategy_in(evidence: str) -> str:
    """Returns the strategy hash that an id of evidence ends with."""
    return evidence[_DIGITS + 1 :]


def is_of_steps(evidence: str) -> bool:
    """Checks that an id belongs to evidence on steps of attempts."""
    return class_in(evidence).endswith(_OF_STEPS)


def text_key(text: str) -> str:
    """Returns a key of 16 hexadecimal digits of a normalised text. Equal for texts that differ in case and punctuation only."""
    return sha256(spelt(text).encode()).hexdigest()[:16]
