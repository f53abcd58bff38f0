"""Quarantine: suspicious texts without a trusted source are kept and listed, but in no slice, until a person or evidence lets them out.

A memory in quarantine is archived, and a small record under its id says why; so it leaves every search, and an undo or a purge takes both.
"""

from collections.abc import Sequence

from alma.memory import arguments as args
from alma.memory.room import Room
from alma.protocols import Write
from alma.text import spelt
from alma.types.kinds import Verdict
from alma.types.memories import AnyMemory, Conversation, CustomMemory, DomainKnowledge, Memory, Outcome
from alma.types.provenance import FLAGGED, IMPORTED
from alma.types.stored import QUARANTINE
from alma_guard import doubted_together, reason_to_doubt

LARGEST_LIST = 100_000

MOST_RELEASED = 100
"""The number of memories in quarantine, the newest ones, that a judged outcome may release."""


def needs_quarantine(memory: Memory) -> bool:
    """Returns True if a memory is suspicious, and uncorroborated or the word of a file."""
    return bool(memory.metadata.get(FLAGGED)) and (is_uncorroborated(memory) or _is_of_a_file(memory))


def _is_of_a_file(memory: Memory) -> bool:
    """Returns True for a conversation, and a memory of a project's own kind, that came in by an import of another person's file."""
    return isinstance(memory, Conversation | CustomMemory) and IMPORTED in memory.metadata


def is_uncorroborated(memory: Memory) -> bool:
    """Returns True for a fact, and for an outcome that no tool, person, evaluator or program judged."""
    if isinstance(memory, Outcome):
        return not memory.verdict_source.is_trusted or memory.outcome is Verdict.UNVERIFIED
    return isinstance(memory, DomainKnowledge)


def doubts_together(memories: Sequence[AnyMemory]) -> dict[str, str]:
    """Returns why uncorroborated memories are suspicious that are not so alone: two of them make an order when they are shown together. By id."""
    alone = [memory for memory in memories if is_uncorroborated(memory) and not memory.metadata.get(FLAGGED)]
    found = doubted_together([f"{memory.text}\n{memory.keywords}" for memory in alone]) if len(alone) > 1 else {}
    return {alone[place].id: reason for place, reason in found.items()}


def put_in(write: Write, memory: Memory, *, at: int) -> None:
    """Takes a memory that was just stored out of every search."""
    write.change_memory(memory.id, archived_at=at)
    write.put_record(QUARANTINE, memory.id, {"reason": memory.metadata[FLAGGED]}, version=0)


def take_out(write: Write, memory_id: str, *, at: int) -> bool:
    """Brings a memory back into every search, as changed at `at`: else a merge with a clone would put it back. Whether it was in quarantine."""
    version, body = write.stored.record(QUARANTINE, [memory_id])[memory_id]
    if not version:
        return False
    write.drop_record(QUARANTINE, memory_id, body, version=version)
    if memory_id in write.stored.find([memory_id]):
        write.change_memory(memory_id, archived_at=None, updated_at=at)
    return True


def may_release(memory: Memory) -> bool:
    """Checks that a memory is a judged outcome that says something suspicious: others may say the same and be in quarantine for it."""
    return isinstance(memory, Outcome) and bool(memory.metadata.get(FLAGGED)) and not needs_quarantine(memory)


def release_corroborated(write: Write, judged: Memory, *, at: int) -> None:
    """Lets out the attempts at the same task in the same way, of the same owner, whose word a judged outcome confirms."""
    assert isinstance(judged, Outcome)
    doubtful = [key for key, _, _ in write.stored.records(QUARANTINE, newest=MOST_RELEASED)]
    for memory in write.stored.named(doubtful).values():
        if isinstance(memory, Outcome) and _is_same_attempt(judged, memory) and _confirms(judged, memory):
            take_out(write, memory.id, at=at)


def _is_same_attempt(one: Outcome, other: Outcome) -> bool:
    """Checks that two outcomes are of one owner, task and strategy."""
    return _subject(one) == _subject(other)


def _subject(outcome: Outcome) -> tuple[object, ...]:
    words = spelt(outcome.task_description), outcome.task_id, spelt(outcome.strategy_used)
    return outcome.agent, outcome.user_id, isinstance(outcome.metadata.get("step"), int), *words


def _confirms(judged: Outcome, doubtful: Outcome) -> bool:
    """Returns True if both came out alike, and all that is suspicious in the doubtful one stands in the judged one as well."""
    said = set(_texts(judged))
    rest = "\n".join(text for text in _texts(doubtful) if text not in said)
    return judged.outcome is doubtful.outcome and reason_to_doubt(rest) is None


def _texts(outcome: Outcome) -> list[str]:
    return [outcome.text, outcome.strategy_used, outcome.error_message or "", outcome.user_feedback or ""]


def reason_of(room: Room, memory_id: str) -> str | None:
    """Why a memory is in quarantine; `None` if it is not."""
    version, body = room.project.record(QUARANTINE, [memory_id])[memory_id]
    return str(body.get("reason")) if version else None


def quarantined(room: Room, limit: int = 100) -> list[AnyMemory]:
    """The memories in quarantine, those that came last first: suspicious texts in facts, and in outcomes that only their agent judged.

    They are kept, in no slice, until they are released. `metadata["flagged"]` says what is suspicious.
    """
    most = args.checked_count(limit, "limit", largest=LARGEST_LIST)
    with room.project.moment():
        ids = [key for key, _, _ in room.project.records(QUARANTINE, newest=most)]
        places = room.project.find(ids)
        found = room.project.memories([place.memory for place in places.values()])
    return [found[places[key].memory] for key in ids if key in places and places[key].memory in found]


def release_quarantined(room: Room, memory_ids: Sequence[str]) -> list[str]:
    """Lets memories out of quarantine: they are found again, marked in prompts as what they are. Returns the ids of those that were in it."""
    ids: Sequence[str] = args.checked_ids(memory_ids, "memory_ids")
    at = room.now()
    with room.project.write(actor="", operation="release_quarantined", at=at) as write:
        return [memory_id for memory_id in ids if take_out(write, memory_id, at=at)]
