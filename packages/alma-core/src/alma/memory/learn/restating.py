"""Judges rules of agents again where no outcome was added: after a merge, and after a purge."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from alma.memory.learn.judging import restate_rules
from alma.memory.learn.learner import Learner
from alma.memory.room import Room
from alma.protocols import NextWrite, StoredEvidence, Write
from alma.types.evidence import Evidence
from alma.types.memories import Outcome

MOST = 10_000_000
"""More outcomes than evidence counts."""


def restate(room: Room, write: Write, owners: Mapping[str, int]) -> None:
    """Writes the rules of owners anew as of the times given with them, in microseconds: how far each holds, its counts and its words.

    They depend on what is known of the owners and on nothing else: not on when it came to be known, nor in which order.
    """
    learner = Learner(room, write, room.empty_ledgers()(write.learned_seq), room.now())
    for owner, newest in sorted(owners.items()):
        readers = learner.readers(owner)
        learner.ledger.read([readers], _OldestFirst(write), write.stored.vectors)
        for is_of_steps in (False, True):
            side = learner.ledger.books[readers].side(is_of_steps=is_of_steps)
            restate_rules(room, write, side, owner, kind_of=lambda key: _kind(write, key), at=min(newest, room.now()))
            write.put_evidence([(entry.stored, entry.evidence) for entry in side.taken_changes()])


def judge_after_purge(room: Room, next_write: NextWrite, unruled: Mapping[str, Evidence], owners: Collection[str]) -> None:
    """Judges the rules of owners again, for what was purged may have counted for them, and forms from what is left those that a purge took along,
    given by id, each with the evidence that it rested on. These are new memories.

    Without the scale of the embedder nothing is judged: near tasks would not count. The next outcome then changes such rules, or brings them back.
    """
    with next_write() as write:
        ledger = room.empty_ledgers()(write.learned_seq)
        if not ledger.is_provisional:
            learner = Learner(room, write, ledger, room.now())
            for owner in sorted(owners):
                learner.judge_rules(owner, kind_of=lambda key: _kind(write, key))
            for rule, seen in unruled.items():
                learner.judge_again(seen, without=rule, kind_of=lambda key: _kind(write, key))
            learner.settled()


@dataclass(frozen=True, slots=True)
class _OldestFirst:
    """The evidence of a write, whose first outcomes are those that were recorded first. Their rows are in the order of imports."""

    write: Write

    def newest(self, owners: Iterable[str], *, most: int) -> Mapping[str, list[StoredEvidence]]:
        """Returns the newest evidence of each owner, without its first outcomes: they are placed otherwise here."""
        found = self.write.learned.newest(owners, most=most)
        return {owner: [StoredEvidence(one.is_stored, one.evidence) for one in some] for owner, some in found.items()}

    def first_outcomes(self, evidence_ids: Iterable[str]) -> Mapping[str, tuple[int, float | None]]:
        """Returns, for each evidence, the place of its first outcome among those of all, and how successful that was."""
        firsts = {key: _first(self.write, key) for key in evidence_ids}
        known = {key: first for key, first in firsts.items() if first is not None}
        order = sorted(known, key=lambda key: (known[key].created_at, known[key].id))
        return {key: (place, known[key].successes) for place, key in enumerate(order)}


def _first(write: Write, evidence_id: str) -> Outcome | None:
    """The outcome that was recorded first of those that evidence counts."""
    found = write.stored.memories(sorted(write.learned.outcomes(evidence_id, newest=MOST))).values()
    outcomes = (one for one in found if isinstance(one, Outcome))
    return min(outcomes, key=lambda one: (one.created_at, one.id), default=None)


def _kind(write: Write, evidence_id: str) -> str | None:
    """The type of the task of evidence, as the first caller named it."""
    first = _first(write, evidence_id)
    return None if first is None else first.task_type
