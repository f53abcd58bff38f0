"""The rules that began on tasks near a question, in whatever words they are written: no search has to find them."""

import numpy as np
from numpy.typing import NDArray

from alma.learning.consulting import rules_near
from alma.memory.readable import ReadableScope
from alma.memory.recall.knowledge import Asking
from alma.memory.recall.relevant_rules import RULES, SHOWN
from alma.memory.room import Room

MOST_NEAR = 16
"""The number of cells whose rules are looked at, of attempts and of steps each: those whose tasks are nearest."""

NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)


def near_rules(room: Room, asked: Asking, scope: ReadableScope) -> NDArray[np.int64]:
    """The rows of the rules of a scope that began on near tasks, ascending; none that is archived."""
    if not RULES & scope.kind_names:
        return NONE
    with room.book(asked.owners) as book:
        ids = [
            memory_id
            for is_of_steps in (False, True)
            for entry in rules_near(book.side(is_of_steps=is_of_steps), asked.question, least=SHOWN.nearness, most=MOST_NEAR)
            for memory_id in (entry.evidence.heuristic, entry.evidence.anti_pattern)
            if memory_id
        ]
    places = room.project.find(ids).values()
    return np.array(
        sorted(place.memory for place in places if place.partition.row in scope.by_row and not place.is_archived), dtype=np.int64
    )
