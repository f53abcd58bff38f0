"""Judged runs of an agent by kinds of task, as `alma_learning` groups them, with the steps of their episodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alma.memory.episodes.records import stored_steps
from alma.memory.room import Room
from alma.text import normalised, one_line, shortened
from alma.types.episodes import EPISODE
from alma.types.kinds import MemoryType
from alma.types.provenance import FLAGGED, flagged
from alma.types.stored import RecordedOutcome
from alma_knowledge.reflection.contrasts import Run
from alma_learning import normalise

MOST_RUNS = 400
"""Newest runs of a kind of task that are compared."""

MOST_STEPS, STEP_CHARS = 40, 240
"""Steps of a run, and characters of each, that a language model reads."""

NEXT = ", then "
"""Joins the actions of a strategy that an integration recorded."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Runs of one kind of task, oldest first, and the stated type of the tasks. `wordings` are the words of each action, by its key."""

    task_type: str | None
    runs: Sequence[Run]
    wordings: Mapping[str, str]


Worths = Mapping[str, float]
"""How far runs of one kind of task succeeded, from 0 to 1, by their outcomes."""


def read_kinds(room: Room, agent: str, task_type: str | None) -> tuple[list[Kind], list[Worths]]:
    """Returns the kinds of task of an agent, and the worths of its runs, a mapping for each kind of all types. Runs that were recorded for a user
    are left out."""
    scope = room.scopes.readable(agent=agent, user_id=None)
    own = [row for row, one in scope.by_row.items() if _is_own(one, agent)]
    with room.projections.of(scope, reader=agent, user=None) as view:
        tables = list(view.tried.tables())
        stored = [one for one in room.project.outcomes(own) if _is_run(one)] if own else []
    whole = [one for one in stored if one.successes in (0.0, 1.0)]
    kinds = [
        _read(room, agent, table.task_type, [one for one in whole if table.holds(one.id)][-MOST_RUNS:])
        for table in tables
        if task_type in (None, table.task_type)
    ]
    return kinds, [{one.id: one.successes or 0.0 for one in stored if table.holds(one.id)} for table in tables]


def _is_own(partition: Any, agent: str) -> bool:
    return partition.kind == MemoryType.OUTCOME and partition.agent == agent and partition.user_id is None


def is_episode_of(opening: Mapping[str, Any], agent: str) -> bool:
    """Returns True for an episode that an agent began for no user. The metadata of an outcome may name another one."""
    return opening.get("agent") == agent and opening.get("user_id") is None


def _is_run(one: RecordedOutcome) -> bool:
    """Returns True for a judged outcome of a whole attempt that was not forgotten."""
    return one.successes is not None and not one.is_archived and "step" not in one.body.get("metadata", {})


def _read(room: Room, agent: str, task_type: str | None, outcomes: Sequence[RecordedOutcome]) -> Kind:
    episodes = [one.body.get("metadata", {}).get("episode_id") for one in outcomes]
    openings = room.project.record(EPISODE, dict.fromkeys(each for each in episodes if isinstance(each, str)))
    steps = stored_steps(room, [key for key, (_, opening) in openings.items() if is_episode_of(opening, agent)])
    wordings: dict[str, str] = {}
    runs = [_run(one, steps.get(str(episode), ()), wordings) for one, episode in zip(outcomes, episodes, strict=True)]
    return Kind(task_type, runs, wordings)


def _run(one: RecordedOutcome, steps: Sequence[Mapping[str, Any]], wordings: dict[str, str]) -> Run:
    """Returns a run with the actions of its steps; without steps, with those of a strategy that names several."""
    parts = str(one.body.get("strategy_used", "")).split(NEXT)
    actions = [str(step.get("action")) for step in steps] or (parts if len(parts) > 1 else [])
    keys = set[str]()
    for text in (*actions, *(str(step["tool"]) for step in steps if step.get("tool"))):
        if key := normalise(text):
            wordings[key] = one_line(text)
            keys.add(key)
    task, said = str(one.body["task_description"]), _say(one, actions, steps)
    return Run(
        id=one.id,
        task=str(one.body.get("task_id") or normalised(task)),
        text=shortened(task, STEP_CHARS),
        actions=tuple(actions),
        keys=frozenset(keys),
        is_success=one.successes == 1.0,
        said=said,
        is_doubtful=FLAGGED in flagged(one.body.get("metadata", {}), said),
    )


def _say(one: RecordedOutcome, actions: Sequence[str], steps: Iterable[Mapping[str, Any]]) -> str:
    lines = [f"Task: {shortened(one_line(one.body['task_description']), 2 * STEP_CHARS)}"]
    errors = [step.get("error") for step in steps] or [None] * len(actions)
    for action, error in list(zip(actions, errors, strict=True))[:MOST_STEPS]:
        failed = f" (error: {error})" if error else ""
        lines.append(f"- {shortened(one_line(f'{action}{failed}'), STEP_CHARS)}")
    if not actions and (way := one.body.get("strategy_used")):
        lines.append(f"- {shortened(one_line(way), STEP_CHARS)}")
    error = one.body.get("error_message") or one.body.get("user_feedback")
    ended = "succeeded" if one.successes == 1.0 else "failed"
    lines.append(f"It {ended}" + (f": {shortened(one_line(error), STEP_CHARS)}" if error else ""))
    return "\n".join(f"{line}." for line in lines)
