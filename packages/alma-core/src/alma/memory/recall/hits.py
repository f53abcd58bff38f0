"""What of a conversation is nearest to a question."""

from collections.abc import Mapping, Sequence

import numpy as np

from alma.memory.recall.answering import Answer
from alma.memory.room import Room
from alma.retrieval.query import without_names
from alma.types.memories import Conversation
from alma.types.passages import Passage

MOST_HITS = 3
"""Passages of a conversation that a slice lists: as many as its score counts."""


def hits(room: Room, answer: Answer) -> Mapping[int, list[str]]:
    """Returns for each recalled conversation, by row, its passages nearest to the question, nearest first, each with its speaker.

    Only passages with a vector are compared. One that was found by words alone may have none that is near.
    """
    conversations = {row: memory for row, memory in answer.memories.items() if isinstance(memory, Conversation)}
    if not conversations:
        return {}
    scored = answer.found.evidence.passages
    nearest = {}
    for row in conversations:
        places = np.flatnonzero(scored.memories == row)
        nearest[row] = scored.passages[places[np.argsort(-scored.scores[places], kind="stable")[:MOST_HITS]]].tolist()
    passages = room.project.passages([number for numbers in nearest.values() for number in numbers])
    return {
        row: _said(memory, [passages[number] for number in nearest[row] if number in passages])
        for row, memory in conversations.items()
    }


def _said(memory: Conversation, passages: Sequence[Passage]) -> list[str]:
    """The pieces as they were said, for their passages are without names; of passages that a caller chose, what these hold."""
    pieces = dict(enumerate(memory.pieces()))
    said = []
    for passage in passages:
        turn, piece = pieces.get(passage.position, (None, ""))
        if turn is not None and without_names(piece, memory.names) == passage.text:
            said.append(f"{turn.speaker}: {piece}")
        else:
            said.append(f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text)
    return said
