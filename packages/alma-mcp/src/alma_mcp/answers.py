"""Answers of the tools, as JSON objects without nulls. Field names say what they hold; the schema of each goes to the client."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Found(_Answer):
    """One memory of an answer, or one way that was tried (`strategy`), as its tag in the notes cites it."""

    tag: str
    id: str
    kind: str


class Notes(_Answer):
    """Fenced notes for a task, and what they consist of."""

    notes: str
    memories: list[Found]
    hint: str = ""


class Warned(_Answer):
    """A known reason against an action."""

    id: str
    summary: str


class Checked(_Answer):
    """Known reasons against an action."""

    clear: bool
    warnings: list[Warned]
    hint: str = ""


class Tried(_Answer):
    """One strategy's record: it worked `successes` of `trials` times, on `tasks` tasks. `summary` says it as the notes do."""

    strategy: str
    verdict: str
    successes: int
    trials: int
    tasks: int
    summary: str


class Strategies(_Answer):
    """Strategies that were tried, best first."""

    rows: list[Tried]


class Assessed(_Answer):
    """Chance that a strategy succeeds: a verdict, how often it worked on such tasks, and all of it in a sentence."""

    verdict: str
    recommendation: str
    successes: int
    trials: int
    summary: str


class Stored(_Answer):
    """A memory that was stored. A suspicious one is kept in quarantine, where nothing finds it until a person releases it."""

    id: str
    quarantined: bool = False


class Used(_Answer):
    """Ids by what was counted for them. `unknown` are ids that this agent cannot see."""

    used: list[str]
    ignored: list[str]
    unknown: list[str]


class Counted(_Answer):
    """Ids that feedback was counted for, and ids that this agent cannot see."""

    counted: list[str]
    unknown: list[str]


class Settled(_Answer):
    """Episodes whose verdict was set."""

    episode_ids: list[str]
    outcome: str


class Forgotten(_Answer):
    """Memories that were archived, or would be. `undo_to` is the journal record that `alma_undo` goes back to; -1 if nothing was done.

    `hint` says how to archive what a call without ids and limits only listed.
    """

    total: int
    by_kind: dict[str, int]
    memory_ids: list[str]
    unknown: list[str]
    dry_run: bool
    undo_to: int = -1
    hint: str = ""


class Counts(_Answer):
    """Content of the memory in numbers. `learned_rules` of the `total` follow from outcomes."""

    project_id: str
    total: int
    learned_rules: int
    by_kind: dict[str, int]
    by_agent: dict[str, dict[str, int]]
    journal_records: int
    embedder: str


class Health(_Answer):
    """State of the server: `ok`, `opening` until the memory is loaded, or `failed` with the error. The next call tries again."""

    status: str
    version: str
    project_id: str
    embedder: str
    acts_as: str
    error: str = ""


class Explained(_Answer):
    """Why a memory is returned for a question, or not."""

    selected: bool
    reason: str
    summary: str


class Change(_Answer):
    """The effect of one call on a memory."""

    seq: int
    at: str
    actor: str
    operation: str
    what: str
    changed: list[str]


class History(_Answer):
    """Every call that changed a memory, oldest first."""

    entries: list[Change]


class Undone(_Answer):
    """Changes that an undo reversed, or would reverse: memory ids by what happened to them."""

    records: int
    dry_run: bool
    brought_back: list[str]
    removed: list[str]
    changed: list[str]
    seq: Annotated[int, Field(description="Its own journal record, -1 if there was nothing to undo.")] = -1


class Consolidated(_Answer):
    """Memories that were merged, or would be: the ids of each group, the survivor first, and of pairs that the words leave open."""

    merged_count: int
    groups_found: int
    memories_processed: int
    merged: list[list[str]]
    unsure: list[list[str]]
    dry_run: bool
    undo_to: Annotated[int, Field(description="For alma_undo; -1 if nothing was merged.")] = -1


class Reflected(_Answer):
    """Lessons of your runs: new ones, known ones, and the ids of those that later runs refuted."""

    runs: int
    lessons: list[str]
    known: list[str]
    retired: list[str]
    dry_run: bool
    undo_to: Annotated[int, Field(description="For alma_undo; -1 if nothing was noted.")] = -1


class Saved(_Answer):
    """A checkpoint that was stored. `number` counts those of the workflow."""

    workflow_id: str
    number: int
    branch: str


class Resumed(_Answer):
    """The newest checkpoint, if there is one."""

    found: bool
    state: dict[str, Any]
    metadata: dict[str, Any] = Field(default_factory=dict)
    number: int = 0
    branch: str = ""
    node: str = ""
    at: str = ""


class Merged(_Answer):
    """One state made of several."""

    state: dict[str, Any]


class Linked(_Answer):
    """A product of a workflow, by reference."""

    artifact_type: str
    ref: str


class Artifacts(_Answer):
    """The products of a workflow, oldest first."""

    artifacts: list[Linked]


class Cleaned(_Answer):
    """Number of checkpoints that were erased."""

    erased: int


class Woken(_Answer):
    """Fenced notes for the start of a session."""

    notes: str


class HandedOff(_Answer):
    """The session whose hand-off was stored."""

    session_id: str
