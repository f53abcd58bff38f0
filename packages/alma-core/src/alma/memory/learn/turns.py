"""Turns of conversations: what people said is embedded sentence by sentence, what assistants and tools said is found by its words.

An evidence fact is mostly one sentence inside a turn about something else, whose vector would drown it (docs/decisions: retrieval).
"""

from alma.memory import arguments as args
from alma.retrieval.query import without_names
from alma.types.memories import Conversation, Memory
from alma.types.passages import Passage, passages_of


def passages_by_kind(memory: Memory) -> list[Passage]:
    """Returns the passages of a memory that was given without any: of a conversation one for each of its pieces."""
    return passages_of_turns(memory) if isinstance(memory, Conversation) else list(passages_of(memory))


def check_turns(memory: Conversation) -> None:
    """Raises `ValidationError` for a turn that cannot be stored: without a speaker or a text, or with too long a one."""
    for number, turn in enumerate(memory.turns):
        args.checked_label(turn.speaker, f"the speaker of turn {number}")
        args.checked_text(turn.text, f"the text of turn {number}")


def passages_of_turns(memory: Conversation) -> list[Passage]:
    """Returns the passages of a conversation, one for each of its pieces.

    The speakers' names are taken out of what is embedded, for who speaks says nothing of what is said. They are searched as words.
    """
    names = memory.names
    return [
        Passage(
            text=without_names(piece, names),
            keywords="" if position else " ".join(sorted(names)),
            speaker=turn.speaker,
            position=position,
            time=memory.held_at,
            is_own=turn.is_own,
        )
        for position, (turn, piece) in enumerate(memory.pieces())
    ]
