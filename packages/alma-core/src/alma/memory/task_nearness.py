"""Whether what was learned from some tasks holds for the task at hand."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.learning.paraphrases import limits_of
from alma.memory.nearby import cosine_of, vectors_of
from alma.memory.room import Room
from alma.text import matched_text, spelt
from alma.types.evidence import BY_TYPE, STEP, StoredEvidence

NEAR_TASK = 0.3
"""From this cosine to one of the tasks that evidence is of, it holds for a task. Of the tasks of one intent in `benchmarks/data/check_tasks.jsonl`
.62 are so near to one of two others, of the tasks of other intents .05."""

THE_SAME = 0.99
"""Under an embedder that was not measured, only the same task is near."""

MOST_TASKS = 50
"""How many of the newest tasks of an evidence are looked at."""


@dataclass(frozen=True, slots=True)
class AskedTask:
    """The task that an action is taken for: its text, its type, or both."""

    text: str | None = None
    task_type: str | None = None


def holds_for(room: Room, stored: StoredEvidence, asked: AskedTask) -> bool:
    """Whether evidence is of tasks like this one: of the same type where both have one, else of a task with a near vector.

    Without a type or a text in common nothing speaks against it, and it holds.
    """
    named = stored.evidence.task_class.removeprefix(STEP)
    if asked.task_type is not None and named.startswith(BY_TYPE):
        return named == f"{BY_TYPE}{spelt(asked.task_type)}"
    if asked.text is None:
        return True
    least = THE_SAME if limits_of(room.store.texts.fingerprint) is None else NEAR_TASK
    return _nearest(room, stored, matched_text(asked.text)) >= least


def _nearest(room: Room, stored: StoredEvidence, task: str) -> float:
    """The cosine of the nearest task that the evidence is of."""
    vector = room.store.texts.query(task, room.project)
    rows = room.project.learned.outcomes(stored.evidence.id, newest=MOST_TASKS)
    scores = room.index.current().score(vector, memories=np.array(sorted(rows), dtype=np.int64)).scores
    return max(float(scores.max(initial=-1.0)), _to_first(room, stored, task, vector))


def _to_first(room: Room, stored: StoredEvidence, task: str, vector: NDArray[np.float32]) -> float:
    """The cosine of the task that stands for the class, of which no outcome may be left."""
    first = matched_text(stored.evidence.task or "")
    return cosine_of({**vectors_of(room, [first]), task: vector}, task, first) if first else -1.0
