"""Learning from outcomes, inside the write that stores them: evidence is counted, and rules are made, changed, demoted and brought back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from alma.learning.ledger import Book, Entry, Ledger
from alma.memory.learn.judging import Touched, judge
from alma.memory.quarantine import needs_quarantine, put_in, take_out
from alma.memory.room import Room
from alma.observing import Observation, blank_evidence, place_of, recounted, retold, until, with_observation
from alma.protocols import Learned, StoredEvidence, Write
from alma.text import matched_text
from alma.types.evidence import STEP, TaskPlace, class_id, class_in, type_of
from alma.types.identity import to_micros
from alma.types.kinds import Verdict
from alma.types.memories import Memory, Outcome
from alma.types.passages import Passage

UNKNOWN_ROW = -1
"""The row of an outcome that is about to be stored."""

NEWEST_OUTCOMES = 100
"""The outcomes before these weigh less than 0.00003 of the newest."""


def strategy_texts(outcome: Outcome) -> list[str]:
    """What has to be embedded for an outcome to be learned from, beside its passages."""
    return [matched_text(outcome.strategy_used)] if outcome.strategy_used else []


@contextmanager
def writing(room: Room, *, actor: str, operation: str, at: int) -> "Iterator[Learner]":
    """A write that learns: what is observed in it becomes evidence and rules when it ends, in the same transaction."""
    with room.project.write(actor=actor, operation=operation, at=at) as write:
        learner = Learner(room, write, room.take_ledger(write), at)
        yield learner
        ledger = learner.settled()
    room.keep_ledger(ledger)


@dataclass(slots=True)
class Learner:
    """What one write observes. `ledger` is its alone while it lasts.

    The first outcome of a task is all there is to know of it, so nothing is written but the outcome; with the second one, both are counted.
    """

    room: Room
    write: Write
    ledger: Ledger
    at: int
    learned: Learned = field(init=False)
    touched: dict[str, Touched] = field(default_factory=dict)
    """The cells near which rules have to be judged."""
    _has_observed: bool = False
    _looked_up: set[str] = field(default_factory=set)
    """The tasks that were looked up in this write, by the beginnings of the ids of their evidence."""

    def __post_init__(self) -> None:
        self.learned = self.write.learned

    def expect(self, outcomes: Iterable[tuple[Outcome, Sequence[Passage]]]) -> None:
        """Reads what is known of the agents of outcomes that are about to be added, in one go for all."""
        given = list(outcomes)
        self._read_books({outcome.agent for outcome, _ in given})
        self._read_tasks((outcome.agent, place_of(outcome, _task(passages), is_step=False)) for outcome, passages in given)

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, is_step: bool = False) -> None:
        """Stores a memory; an outcome, of an attempt or of a step of one, is counted for its task and strategy."""
        evidence = self._observe(memory, _task(passages), vectors, is_step) if isinstance(memory, Outcome) else None
        self.write.add(memory, passages, vectors, evidence=evidence)
        if needs_quarantine(memory):
            put_in(self.write, memory, at=self.at)

    def _observe(self, outcome: Outcome, task: str, vectors: Mapping[str, bytes], is_step: bool) -> str:
        """Counts an outcome of a task, and returns the id of the evidence that it belongs to."""
        self._has_observed = True
        place = place_of(outcome, task, is_step=is_step)
        book = self._book(outcome.agent, place)
        side = book.side(is_of_steps=is_step)
        blank = blank_evidence(outcome, place, task)
        others = side.of_task(class_in(blank.id))
        for other in others:  # the first one becomes evidence with the second
            other.is_due = True
            side.change(other, vectors)
        entry = side.entry(blank.id)
        if entry is None:
            entry = Entry(blank, None, (UNKNOWN_ROW, outcome.successes), is_due=bool(others))
        seen = Observation.of(outcome, told=self.at)
        entry.evidence = with_observation(until(entry.evidence, self.at), seen)
        if entry.first[1] is None and outcome.successes is not None and entry.evidence.lifetime.trials == 1:
            entry.first = entry.first[0], outcome.successes
        strategy = matched_text(outcome.strategy_used)
        if strategy:
            self._keep_vectors({strategy: vectors.get(strategy)})
        side.change(entry, vectors)
        self._touch(entry, outcome.task_type)
        return entry.evidence.id

    def _touch(self, entry: Entry, task_type: str | None) -> None:
        """Notes that rules near a task may change. Of a type, the last task stands for all."""
        seen = entry.evidence
        kind = type_of(seen.task_class)
        name = seen.id if kind is None else f"{seen.agent}\0{seen.is_of_steps}\0{kind}\0{seen.strategy_hash}"
        self.touched.pop(name, None)
        self.touched[name] = Touched(entry, task_type)

    def _keep_vectors(self, vectors: Mapping[str, bytes | None]) -> None:
        """Keeps the vectors of strategies, by text, as far as there are any."""
        kept = self.ledger.kept_vectors
        new = {text: vector for text, vector in vectors.items() if vector is not None and text not in kept}
        if new:
            self.write.keep_vectors(new)
            kept.update(new)

    def correct(self, outcome: Outcome, was: Verdict, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Puts an outcome in the place of the one with its id, and has the evidence follow; `was` is the verdict of that one."""
        kept = self.write.stored.find([outcome.id])[outcome.id]
        self.write.replace(outcome, passages, vectors, evidence=kept.evidence)
        if not needs_quarantine(outcome):
            take_out(self.write, outcome.id)
        elif not kept.is_archived:
            put_in(self.write, outcome, at=self.at)
        self._has_observed = True
        stored = self.learned.behind([kept.memory]).get(kept.memory)
        if stored is None:
            return
        book = self._book(stored.evidence.agent, stored.evidence.task_class)
        side = book.side(is_of_steps=stored.evidence.is_of_steps)
        entry = side.entry(stored.evidence.id)
        assert entry is not None  # its task was read
        if not stored.is_stored:
            entry.evidence = stored.evidence  # it was read after the outcome was replaced
        else:
            recount = entry.evidence if was is outcome.outcome else recounted(entry.evidence, was, outcome.outcome)
            entry.evidence = retold(recount, self._newest(stored.evidence.id, outcome))
        entry.first = self.learned.first_outcomes([stored.evidence.id]).get(stored.evidence.id, entry.first)
        side.change(entry, vectors)
        self._touch(entry, outcome.task_type)

    def _newest(self, evidence_id: str, changed: Outcome) -> Iterator[Observation]:
        """The outcomes that count for what is decided, one of them changed, in the order in which they were recorded."""
        rows = sorted(self.learned.outcomes(evidence_id, newest=NEWEST_OUTCOMES))
        kept = self.write.stored.memories(rows)
        for row in rows:
            outcome = changed if row in kept and kept[row].id == changed.id else kept.get(row)
            if isinstance(outcome, Outcome):
                yield Observation.of(outcome, told=min(to_micros(outcome.created_at), self.at))

    def settled(self) -> Ledger:
        """Writes the evidence and the rules that follow from it, and returns the ledger as it is when this write has landed."""
        counts: dict[str, Mapping[str, Any]] = {}
        by_side: dict[tuple[str, bool], list[Touched]] = {}
        for touched in self.touched.values():
            by_side.setdefault((touched.entry.evidence.agent, touched.entry.evidence.is_of_steps), []).append(touched)
        sides = {place: self.ledger.books[(place[0],)].side(is_of_steps=place[1]) for place in by_side}
        for place, side in sides.items():
            counts |= judge(self.room, self.write, side, by_side[place], at=self.at)
        self.write.recount(counts)
        changed = [entry for side in sides.values() for entry in side.taken_changes()]
        self._store_evidence(changed)
        if self._has_observed:
            self.ledger.upto = self.write.seq
        self.ledger.shrink(len(changed))
        return self.ledger

    def _store_evidence(self, entries: Sequence[Entry]) -> None:
        self.write.put_evidence([(entry.stored, entry.evidence) for entry in entries])
        for entry in entries:
            entry.stored = StoredEvidence(True, entry.evidence)

    def _book(self, agent: str, place: str) -> Book:
        """The evidence of an agent, that on a task of its among it."""
        self._read_books([agent])
        self._read_tasks([(agent, place)])
        return self.ledger.books[(agent,)]

    def _read_books(self, agents: Iterable[str]) -> None:
        """Has the newest evidence of the agents in the ledger, these as those that were asked for last."""
        self.ledger.read([(agent,) for agent in agents], self.learned, self.write.stored.vectors)

    def _read_tasks(self, places: Iterable[TaskPlace]) -> None:
        """Has the evidence on tasks of which the ledger knows nothing, as far as there is any: it has the newest alone, without what is damaged."""
        missing = {
            class_id(agent, place)
            for agent, place in places
            if not self.ledger.books[(agent,)].side(is_of_steps=place.startswith(STEP)).of_task(class_id(agent, place))
        } - self._looked_up
        if missing:
            self._looked_up |= missing
            self.ledger.take_in(self.learned.of_tasks(missing), self.learned, self.write.stored.vectors)


def _task(passages: Sequence[Passage]) -> str:
    """The passage that tells the task: the first one by its position, however they were given."""
    return min(passages, key=lambda passage: passage.position).text
