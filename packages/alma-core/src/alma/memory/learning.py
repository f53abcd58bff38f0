"""Learning from outcomes, inside the write that stores them: evidence is counted, and rules are made, changed, demoted and brought back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from alma.learning.known_texts import KnownTexts
from alma.learning.ledger import BY_TASK, BY_TYPE, MOST_CLASSES, MOST_STRATEGIES, STEP, ClassBook, Entry, Ledger, note_class
from alma.learning.observing import Observation, counted, recounted, retold, until, with_observation
from alma.learning.rules import Setting
from alma.memory.judging import judge
from alma.memory.room import Room
from alma.protocols import Learned, StoredEvidence, Write
from alma.text import matched_text, spelt
from alma.types.evidence import WHOLE_CLASS, Evidence, text_key
from alma.types.identity import short_id, to_micros
from alma.types.kinds import Verdict
from alma.types.memories import Memory, Outcome
from alma.types.passages import Passage

NEWEST_OUTCOMES = 100
"""The outcomes before these weigh less than 0.00003 of the newest."""


def strategy_texts(outcome: Outcome) -> list[str]:
    """What has to be embedded for an outcome to be learned from, beside its passages."""
    return [matched_text(outcome.strategy_used)] if outcome.strategy_used else []


@contextmanager
def writing(room: Room, *, actor: str, operation: str, at: int) -> "Iterator[Learner]":
    """A write that learns: what is observed in it becomes evidence and rules when it ends, in the same transaction."""
    with room.project.write(actor=actor, operation=operation, at=at) as write:
        learner = Learner(room, write, room.take_ledger(write.learned_seq), at)
        yield learner
        ledger = learner.settled()
    room.keep_ledger(ledger)


@dataclass(slots=True)
class Learner:
    """What one write observes. `ledger` is its alone while it lasts."""

    room: Room
    write: Write
    ledger: Ledger
    at: int
    settings: dict[tuple[str, str], Setting] = field(default_factory=dict)
    learned: Learned = field(init=False)

    def __post_init__(self) -> None:
        self.learned = self.write.learned

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, is_step: bool = False) -> None:
        """Stores a memory; an outcome, of an attempt or of a step of one, is counted in its class and for its strategy."""
        if not isinstance(memory, Outcome):
            self.write.add(memory, passages, vectors)
            return
        self.write.add(memory, passages, vectors, evidence=self._observe(memory, passages[0].text, vectors, is_step))

    def _observe(self, outcome: Outcome, task: str, vectors: Mapping[str, bytes], is_step: bool) -> str:
        """Counts an outcome of a task, and gives the id of the evidence that it belongs to."""
        seen = Observation.of(outcome, told=self.at)
        key, is_new = self._task_class(outcome, task, vectors.get(task), STEP if is_step else "")
        book = self._book(outcome.agent, key, is_new=is_new)
        whole = self._whole(book, outcome.agent, key, task, vectors.get(task))
        whole.evidence = counted(until(whole.evidence, self.at), seen)
        if outcome.task_type is None:
            note_class(self._classes(outcome.agent), whole.evidence, vectors.get(task))
        self.settings.setdefault(
            (outcome.agent, key), Setting(self.room.name, self.at, whole.evidence.task or "", outcome.task_type)
        )
        if not outcome.strategy_used:
            return whole.evidence.id
        entry = self._strategy(book, outcome, key, vectors)
        entry.evidence = with_observation(until(entry.evidence, self.at), seen)
        book.put(entry)
        return entry.evidence.id

    def correct(self, outcome: Outcome, was: Verdict, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Puts an outcome in the place of the one with its id, and has the evidence follow; `was` is the verdict of that one."""
        evidence_id = self.write.find(outcome.id)["evidence"]
        self.write.replace(outcome, passages, vectors, evidence=evidence_id)
        stored = self.learned.of(evidence_id) if evidence_id else None
        if stored is None:
            return
        seen, now = stored.evidence, outcome.outcome
        book = self._book(seen.agent, seen.task_class)
        whole = self._whole(book, seen.agent, seen.task_class, passages[0].text, None)
        if was is not now:
            whole.evidence = recounted(whole.evidence, was, now)
            book.put(whole)
        if not seen.is_whole_class:
            entry = book.strategies.get(seen.strategy_hash) or Entry(stored, seen, None)
            entry.evidence = retold(recounted(entry.evidence, was, now), self._newest(evidence_id, outcome))
            book.put(entry)
        place = seen.agent, seen.task_class
        self.settings.setdefault(place, Setting(self.room.name, self.at, whole.evidence.task or "", outcome.task_type))

    def _newest(self, evidence_id: str, changed: Outcome) -> Iterator[Observation]:
        """The outcomes that count for what is decided, one of them changed, in the order in which they were recorded."""
        rows = sorted(self.learned.outcomes(evidence_id, newest=NEWEST_OUTCOMES))
        kept = self.room.project.memories(rows)
        for row in rows:
            outcome = changed if row in kept and kept[row].id == changed.id else kept.get(row)
            if isinstance(outcome, Outcome):
                yield Observation.of(outcome, told=min(to_micros(outcome.created_at), self.at))

    def settled(self) -> Ledger:
        """Writes the evidence and the rules that follow from it, and gives the ledger as it is when this write has landed."""
        for place, setting in self.settings.items():
            book = self.ledger.books[place]
            judge(self.room, self.write, book, setting)
            for entry in list(book.changed()):
                entry.stored = self._put(entry)
                self.ledger.upto = self.write.seq
            book.shrink()
        self.ledger.shrink()
        return self.ledger

    def _put(self, entry: Entry) -> StoredEvidence:
        if entry.stored is None and entry.vector is not None and not entry.evidence.is_whole_class:
            self.write.keep_vector(matched_text(entry.evidence.strategy), entry.vector)
        return self.write.put_evidence(entry.stored, entry.evidence)

    def _task_class(self, outcome: Outcome, task: str, vector: bytes | None, step: str) -> tuple[str, bool]:
        """The name of the class that a task belongs to: by its type, else that of an equal or near task, else its own; and whether that is new."""
        if outcome.task_type is not None:
            return f"{step}{BY_TYPE}{spelt(outcome.task_type)}", False
        exact = f"{BY_TASK}{text_key(task)}"
        known = self._classes(outcome.agent)
        if exact in known or self._is_stored(outcome.agent, exact, known):
            return step + exact, False
        near = None if vector is None else known.best(task, vector)
        return step + (near or exact), near is None

    def _is_stored(self, agent: str, key: str, known: KnownTexts) -> bool:
        """Whether a class that is not in hand is there all the same."""
        return known.is_full and self.learned.has_class(agent, key, STEP + key)

    def _classes(self, agent: str) -> KnownTexts:
        known = self.ledger.classes.get(agent)
        if known is None:
            found = self.learned.classes(agent, most=MOST_CLASSES)
            vectors = self.room.project.vectors([stored.evidence.task or "" for stored in found])
            known = self.ledger.take_classes(agent, found, vectors)
        return known

    def _book(self, agent: str, key: str, *, is_new: bool = False) -> ClassBook:
        book = self.ledger.books.pop((agent, key), None) or (ClassBook.of((), {}) if is_new else None)
        if book is None:
            found = self.learned.of_class(agent, key, most=MOST_STRATEGIES + 1)
            vectors = self.room.project.vectors([matched_text(stored.evidence.strategy) for stored in found])
            book = ClassBook.of(found, vectors)
        self.ledger.books[agent, key] = book
        return book

    def _whole(self, book: ClassBook, agent: str, key: str, task: str, vector: bytes | None) -> Entry:
        if book.whole is None:
            stored = None if book.is_whole else self.learned.at(agent, key, WHOLE_CLASS)
            book.put(Entry(stored, stored.evidence, None) if stored else _new(agent, key, WHOLE_CLASS, "", task, vector))
        assert book.whole is not None
        return book.whole

    def _strategy(self, book: ClassBook, outcome: Outcome, key: str, vectors: Mapping[str, bytes]) -> Entry:
        """The evidence on the strategy of an outcome: of the same words, else of the same meaning, else new."""
        strategy, text = outcome.strategy_used, matched_text(outcome.strategy_used)
        hashed, vector = text_key(strategy), vectors.get(text)
        found = book.strategies.get(hashed)
        if found is None and not book.is_whole and (stored := self.learned.at(outcome.agent, key, hashed)):
            found = Entry(stored, stored.evidence, vector)
        if found is None and vector is not None and text == strategy:
            near = book.known.best(text, vector)
            found = book.strategies[near] if near else None
        if found is None:
            is_first = not book.strategies and book.whole is not None and book.whole.stored is None
            task = book.whole.evidence.task if is_first and book.whole else None
            return _new(outcome.agent, key, hashed, strategy, task, vector)
        return found


def _new(agent: str, key: str, hashed: str, text: str, task: str | None, vector: bytes | None) -> Entry:
    return Entry(None, Evidence(short_id(), agent, key, hashed, text, task=task), vector)
