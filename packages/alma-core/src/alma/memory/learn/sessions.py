"""Conversations that grow: what a program stores under a session again is added to the session's conversations, each turn once.

A program may save the whole conversation each time, its newest turns, or only new ones; in any order, from several processes.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from alma.memory.arguments import checked_metadata
from alma.protocols import Lookups, Write
from alma.text import without_names
from alma.types.memories import Conversation, Memory, Passage, Turn, passages_of
from alma.types.package_records import REFERENCES
from alma.types.provenance import flagged
from alma_learning.tellings import compare_turns, count_characters, with_additions

SESSION = "memory.session"
"""Kind of the small records that find the conversations of a session, by its digest and their ids. A kind as packages have, so a record is
exported, merged and purged with its conversation."""

LONGEST = 100_000
"""Characters of a conversation that takes no more turns: each addition rewrites it, in the journal too. Further turns begin another."""

APART = timedelta(hours=24)
"""Turns that share nothing with the session begin another conversation if they are so much later or earlier."""

Key = tuple[str, str | None, str]
"""Agent, user and name of a session."""


class Sessions:
    """The conversations of the sessions of a batch: as they are stored, and as the batch leaves them."""

    def __init__(self, stored: Lookups, given: Mapping[int, Conversation], now: datetime) -> None:
        self._now = now
        keys = {number: session_of(one) for number, one in given.items()}
        self._before = {key: find_session(stored, key) for key in dict.fromkeys(keys.values())}
        self._after = {key: list(found) for key, found in self._before.items()}
        places = {number: (key, self._take(self._after[key], given[number])) for number, key in keys.items()}
        self.results = {number: self._after[key][place] for number, (key, place) in places.items()}
        """The conversation that each of the batch became, by its number."""

    def is_stale(self, stored: Lookups) -> bool:
        """Checks whether another caller has changed a session meanwhile."""
        return any(find_session(stored, key) != found for key, found in self._before.items())

    def changed(self) -> Iterator[tuple[Conversation, int | None]]:
        """Yields the conversations to store, a new one with its number in its session."""
        for key, found in self._after.items():
            former = self._before[key]
            for number, memory in enumerate(found):
                if number >= len(former) or memory != former[number]:
                    yield memory, number if number >= len(former) else None

    def _take(self, parts: list[Conversation], given: Conversation) -> int:
        """Adds the turns of a conversation to those of its session, and returns the place of the part that has its newest turns."""
        stored = [turn for part in parts for turn in part.turns]
        is_apart = all(abs(given.held_at - part.held_at) > APART for part in parts)
        is_again = any(part.id == given.id for part in parts)
        new = compare_turns(stored, given.turns, is_apart=is_apart, is_again=is_again) if stored else None
        if new is None:
            parts.append(given)
            return len(parts) - 1
        start, rest = 0, new.get(len(stored), ())
        for place, part in enumerate(parts):
            end = start + len(part.turns)
            turns = with_additions(new, stored, start, end)
            if end == len(stored) and count_characters(turns) + count_characters(rest) <= LONGEST:
                turns, rest = (*turns, *rest), ()
            parts[place], start = self._grow(part, turns, given), end
        if rest:
            parts.append(given.model_copy(update={"turns": tuple(rest)}))
        return len(parts) - 1

    def _grow(self, part: Conversation, turns: tuple[Turn, ...], given: Conversation) -> Conversation:
        """Returns a part with these turns. One that gains some has the later of both times, and the metadata of both."""
        if turns == part.turns:
            return part
        metadata = checked_metadata({**part.metadata, **given.metadata})
        said = {"turns": turns, "metadata": flagged(metadata, *(turn.text for turn in turns))}
        return part.model_copy(update={**said, "updated_at": self._now, "held_at": max(part.held_at, given.held_at)})


def session_of(memory: Memory) -> Key | None:
    """Returns the session of a conversation; `None` for a memory of another kind."""
    return (memory.agent, memory.user_id, memory.session_id) if isinstance(memory, Conversation) else None


def find_session(stored: Lookups, key: Key | None) -> list[Conversation]:
    """Returns the conversations of a session in their order, without archived ones."""
    numbers = {name.rpartition("/")[2]: body.get("number", 0) for name, _, body in stored.records(SESSION, under=_digest(key))}
    kept = [memory_id for memory_id, place in stored.find(numbers).items() if not place.is_archived]
    found = [one for one in stored.named(kept).values() if isinstance(one, Conversation)]
    return sorted(found, key=lambda one: (numbers[one.id], one.created_at, one.id))


def put_session(write: Write, memory: Conversation, number: int) -> None:
    """Stores that a conversation is one of its session."""
    body = {REFERENCES: [memory.id], "number": number, "agent": memory.agent, "user_id": memory.user_id}
    key = _digest(session_of(memory))
    write.put_record(SESSION, f"{key}/{memory.id}", body, version=0)


def _digest(key: Key | None) -> str:
    return hashlib.blake2b(json.dumps(key).encode(), digest_size=16).hexdigest()


def passages_by_kind(memory: Memory) -> Sequence[Passage]:
    """Returns the passages of a memory that was given without any: of a conversation one for each sentence, as an evidence fact is mostly
    one sentence inside a turn about something else, whose vector would drown it (docs/decisions: retrieval).

    The speakers' names are taken out of what is embedded, for who speaks says nothing of what is said. They are searched as words.
    """
    if not isinstance(memory, Conversation):
        return passages_of(memory)
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
