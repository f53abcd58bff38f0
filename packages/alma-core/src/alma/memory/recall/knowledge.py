"""What a reader knows of a task: its own evidence and that of the agents it reads, put to one question."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.learning.consulting import Consulted, consulted
from alma.learning.experience import Question
from alma.memory.readable import ReadableScope
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.retrieval.query import without_names
from alma.text import matched_text, spelt
from alma.types.partition import agent_in

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asking:
    """A question of a reader: the task, if one is given, with its vector, the type, and the owners whose evidence counts."""

    reader: str
    owners: tuple[str, ...]
    question: Question | None


def asking(
    room: Room,
    *,
    reader: str,
    task: str | None,
    task_type: str | None,
    user_id: str | None = None,
    vector: Vector | None = None,
    scope: ReadableScope | None = None,
) -> Asking:
    """The question about a task, about a type, or about all that was tried. `vector` is that of the task where it is known."""
    found = readable(room, agent=reader, user_id=user_id) if scope is None else scope
    kind = None if task_type is None else spelt(task_type)
    if task is None:
        blank = np.zeros(room.store.texts.fingerprint.dimension, np.float32)
        return Asking(reader, found.learners, None if kind is None else Question("", blank, kind))
    if vector is None:
        names = frozenset({*map(agent_in, found.learners), reader})
        vector = room.store.texts.query(without_names(task, names), room.project)
    return Asking(reader, found.learners, Question(matched_text(task), vector, kind))


@contextmanager
def advised(
    room: Room,
    asked: Asking,
    *,
    is_of_steps: bool = False,
    also: Sequence[tuple[str, Vector]] = (),
    wanted: Iterable[str] = (),
    is_needed: bool = True,
) -> Iterator[Consulted]:
    """The advice on a question, as of now; see `consulted`. What it gives is valid inside. Unless it `is_needed` in any case, it is made when it is
    asked for."""
    with room.book(asked.owners) as book:
        side = book.side(is_of_steps=is_of_steps)
        yield consulted(side, asked.question, reader=asked.reader, also=also, wanted=wanted, is_advised=is_needed)
