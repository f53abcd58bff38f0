"""Quarantine: suspicious texts without a trusted source are kept and listed, but in no slice, until a person or evidence releases them.

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


def screen_new(write: Write, memory: Memory, *, at: int) -> None:
    """Puts a memory that was just stored into quarantine if it is suspicious; a suspicious outcome that was judged releases others instead."""
    if _needs_quarantine(memory):
        _put_in(write, memory, at=at)
    else:
        _release_confirmed(write, memory, at=at)


def screen_corrected(write: Write, memory: Memory, *, at: int, was_archived: bool) -> None:
    """Screens a memory again that was corrected: a trusted verdict takes it out of quarantine, another one, or a new text, may put it in."""
    if not _needs_quarantine(memory):
        take_out(write, memory.id, at=at)
        _release_confirmed(write, memory, at=at)
    elif not was_archived:
        _put_in(write, memory, at=at)


def take_out(write: Write, memory_id: str, *, at: int) -> bool:
    """Brings a memory back into every search, and returns False if it was not in quarantine. It counts as changed at `at`: else a merge with a
    clone would put it back."""
    version, body = write.stored.record(QUARANTINE, [memory_id])[memory_id]
    if not version:
        return False
    write.drop_record(QUARANTINE, memory_id, body, version=version)
    if memory_id in write.stored.find([memory_id]):
        write.change_memory(memory_id, archived_at=None, updated_at=at)
    return True


def doubts_together(memories: Sequence[AnyMemory]) -> dict[str, str]:
    """Returns why uncorroborated memories are suspicious that are not so alone: two of them make an order when they are shown together. By id."""
    alone = [memory for memory in memories if _is_uncorroborated(memory) and not memory.metadata.get(FLAGGED)]
    found = doubted_together([f"{memory.text}\n{memory.keywords}" for memory in alone]) if len(alone) > 1 else {}
    return {alone[place].id: reason for place, reason in found.items()}


def reason_of(room: Room, memory_id: str) -> str | None:
    """Returns why a memory is in quarantine; `None` if it is not."""
    version, body = room.project.record(QUARANTINE, [memory_id])[memory_id]
    return str(body.get("reason")) if version else None


def quarantined(room: Room, limit: int = 100) -> list[AnyMemory]:
    """Returns the memories in quarantine, newest first: suspicious texts in facts, and in outcomes that only their agent judged.

    They are kept, in no slice, until they are released. `metadata["flagged"]` says what is suspicious.
    """
    most = args.checked_count(limit, "limit", largest=LARGEST_LIST)
    with room.project.moment():
        return list(room.project.named(key for key, _, _ in room.project.records(QUARANTINE, newest=most)).values())


def release_quarantined(room: Room, memory_ids: Sequence[str]) -> list[str]:
    """Lets memories out of quarantine: they are found again, marked in prompts as what they are. Returns the ids of those that were in it."""
    ids = args.checked_ids(memory_ids, "memory_ids")
    at = room.now()
    with room.project.write(actor="", operation="release_quarantined", at=at) as write:
        return [memory_id for memory_id in ids if take_out(write, memory_id, at=at)]


def _needs_quarantine(memory: Memory) -> bool:
    """Returns True if a memory is suspicious, and uncorroborated or from another person's file."""
    is_of_a_file = isinstance(memory, Conversation | CustomMemory) and IMPORTED in memory.metadata
    return bool(memory.metadata.get(FLAGGED)) and (is_of_a_file or _is_uncorroborated(memory))


def _is_uncorroborated(memory: Memory) -> bool:
    """Returns True for a fact, and for an outcome that no tool, person, evaluator or program judged."""
    if isinstance(memory, Outcome):
        return not memory.verdict_source.is_trusted or memory.outcome is Verdict.UNVERIFIED
    return isinstance(memory, DomainKnowledge)


def _put_in(write: Write, memory: Memory, *, at: int) -> None:
    write.change_memory(memory.id, archived_at=at)
    write.put_record(QUARANTINE, memory.id, {"reason": memory.metadata[FLAGGED]}, version=0)


def _release_confirmed(write: Write, judged: Memory, *, at: int) -> None:
    """Releases attempts at the same task in the same way, of the same owner, which a suspicious outcome that was judged confirms."""
    if not isinstance(judged, Outcome) or not judged.metadata.get(FLAGGED):
        return
    doubtful = [key for key, _, _ in write.stored.records(QUARANTINE, newest=MOST_RELEASED)]
    for memory in write.stored.named(doubtful).values():
        if isinstance(memory, Outcome) and _attempt_of(memory) == _attempt_of(judged) and _confirms(judged, memory):
            take_out(write, memory.id, at=at)


def _attempt_of(outcome: Outcome) -> tuple[object, ...]:
    words = spelt(outcome.task_description), outcome.task_id, spelt(outcome.strategy_used)
    return outcome.agent, outcome.user_id, isinstance(outcome.metadata.get("step"), int), *words


def _confirms(judged: Outcome, doubtful: Outcome) -> bool:
    """Returns True if both came out alike, and all that is suspicious in the doubtful outcome stands in the judged one as well."""
    said = set(_texts(judged))
    rest = "\n".join(text for text in _texts(doubtful) if text not in said)
    return judged.outcome is doubtful.outcome and reason_to_doubt(rest) is None


def _texts(outcome: Outcome) -> list[str]:
    return [outcome.text, outcome.strategy_used, outcome.error_message or "", outcome.user_feedback or ""]
