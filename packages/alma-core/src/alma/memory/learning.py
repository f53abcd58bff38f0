"""Learning from outcomes, inside the write that stores them: evidence is counted, and rules are made, changed, demoted and brought back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from alma.learning.ledger import MOST_CLASSES, MOST_STRATEGIES, ClassBook, Entry, Ledger, note_class
from alma.learning.rules import Setting
from alma.memory.judging import judge
from alma.memory.room import Room
from alma.observing import Observation, counted, recounted, retold, until, with_observation
from alma.protocols import Learned, StoredEvidence, Write
from alma.text import matched_text
from alma.types.evidence import STEP, WHOLE_CLASS, AgentClass, Evidence, evidence_id, own_class, text_key
from alma.types.identity import to_micros
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
        learner = Learner(room, write, room.take_ledger(write), at)
        yield learner
        ledger = learner.settled()
    room.keep_ledger(ledger)


@dataclass(slots=True)
class Learner:
    """What one write observes. `ledger` is its alone while it lasts.

    The first outcome of a class is all there is to know of it, so nothing is written but the outcome; with the second one, both are counted.
    Where another task names the class, say that of attempts at it while these are the first steps, the first one is counted at once.
    """

    room: Room
    write: Write
    ledger: Ledger
    at: int
    settings: dict[AgentClass, Setting] = field(default_factory=dict)
    learned: Learned = field(init=False)
    _has_observed: bool = False
    _old_classes: dict[AgentClass, bool] = field(default_factory=dict)
    """Of classes that are named by tasks, and not among the newest of their agents: whether anything is known of them."""

    def __post_init__(self) -> None:
        self.learned = self.write.learned

    def expect(self, outcomes: Iterable[tuple[Outcome, Sequence[Passage]]]) -> None:
        """Reads what is known of the classes of outcomes that are about to be added, in one go for all."""
        typed: set[AgentClass] = set()
        untyped: set[AgentClass] = set()
        for outcome, passages in outcomes:
            place = outcome.agent, own_class(outcome.task_type, _task(passages), is_step=False)
            (untyped if outcome.task_type is None else typed).add(place)
        self._read_classes({agent for agent, _ in untyped})
        self._read_books([*sorted(typed), *self._known(sorted(untyped))])

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, is_step: bool = False) -> None:
        """Stores a memory; an outcome, of an attempt or of a step of one, is counted in its class and for its strategy."""
        if not isinstance(memory, Outcome):
            self.write.add(memory, passages, vectors)
            return
        self.write.add(memory, passages, vectors, evidence=self._observe(memory, _task(passages), vectors, is_step))

    def _observe(self, outcome: Outcome, task: str, vectors: Mapping[str, bytes], is_step: bool) -> str:
        """Counts an outcome of a task, and gives the id of the evidence that it belongs to."""
        self._has_observed = True
        own = own_class(outcome.task_type, task, is_step=is_step)
        key = own if outcome.task_type is not None else self._known_class(outcome.agent, task, vectors.get(task), own)
        book = None if key is None else self._book(outcome.agent, key)
        if book is None and key in (own, None):
            return self._first(outcome, own, task, vectors)
        assert key is not None
        if book is None:  # the class is named by another task, which the outcome does not tell
            book = self.ledger.books[outcome.agent, key] = ClassBook(None, {}, is_whole=True)
        seen = Observation.of(outcome, told=self.at)
        whole = self._whole(book, outcome.agent, key, task, vectors.get(task))
        whole.evidence = counted(until(whole.evidence, self.at), seen)
        if outcome.task_type is None:
            keep = whole.evidence.observations > 1
            self._note_class(outcome.agent, key, task, vectors.get(task), keep=keep)
        self.settings.setdefault(
            (outcome.agent, key), Setting(self.room.name, self.at, whole.evidence.task or "", outcome.task_type)
        )
        if not outcome.strategy_used:
            return whole.evidence.id
        entry = self._strategy(book, outcome, key, vectors)
        entry.evidence = with_observation(until(entry.evidence, self.at), seen)
        book.put(entry)
        return entry.evidence.id

    def _first(self, outcome: Outcome, key: str, task: str, vectors: Mapping[str, bytes]) -> str:
        """Notes a class by its first outcome, and gives the id that the evidence will have."""
        if outcome.task_type is None:
            self._note_class(outcome.agent, key, task, vectors.get(task), keep=False)
        strategy = matched_text(outcome.strategy_used)
        self._keep_vectors({strategy: vectors.get(strategy)})
        return evidence_id(outcome.agent, key, text_key(outcome.strategy_used) if outcome.strategy_used else WHOLE_CLASS)

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
        stored = self.learned.behind([kept.memory]).get(kept.memory)
        if stored is None or not stored.is_stored:
            return
        seen, now = stored.evidence, outcome.outcome
        book = self._book(seen.agent, seen.task_class)
        assert book is not None  # there is evidence on it
        whole = self._whole(book, seen.agent, seen.task_class, _task(passages), None)
        if was is not now:
            whole.evidence = recounted(whole.evidence, was, now)
            book.put(whole)
        if not seen.is_whole_class:
            entry = book.strategies.get(seen.strategy_hash) or Entry.of(stored, None)
            entry.evidence = retold(recounted(entry.evidence, was, now), self._newest(seen.id, outcome))
            book.put(entry)
        place = seen.agent, seen.task_class
        self.settings.setdefault(place, Setting(self.room.name, self.at, whole.evidence.task or "", outcome.task_type))

    def _newest(self, evidence_id: str, changed: Outcome) -> Iterator[Observation]:
        """The outcomes that count for what is decided, one of them changed, in the order in which they were recorded."""
        rows = sorted(self.learned.outcomes(evidence_id, newest=NEWEST_OUTCOMES))
        kept = self.write.stored.memories(rows)
        for row in rows:
            outcome = changed if row in kept and kept[row].id == changed.id else kept.get(row)
            if isinstance(outcome, Outcome):
                yield Observation.of(outcome, told=min(to_micros(outcome.created_at), self.at))

    def settled(self) -> Ledger:
        """Writes the evidence and the rules that follow from it, and gives the ledger as it is when this write has landed."""
        books = {place: self.ledger.books[place] for place in self.settings}
        counts: dict[str, Mapping[str, Any]] = {}
        for place, book in books.items():
            counts |= judge(self.room, self.write, book, self.settings[place])
        self.write.recount(counts)
        self._store_evidence([entry for book in books.values() for entry in book.changed()])
        if self._has_observed or books:
            self.ledger.upto = self.write.seq
        for book in books.values():
            book.shrink()
        self.ledger.shrink()
        return self.ledger

    def _store_evidence(self, entries: Sequence[Entry]) -> None:
        new = [entry for entry in entries if entry.stored is None and not entry.evidence.is_whole_class]
        self._keep_vectors({matched_text(entry.evidence.strategy): entry.vector for entry in new})
        self.write.put_evidence([(entry.stored, entry.evidence) for entry in entries])
        for entry in entries:
            entry.stored = StoredEvidence(True, entry.evidence)

    def _known_class(self, agent: str, task: str, vector: bytes | None, own: str) -> str | None:
        """The name of the class that a task without a type belongs to, of its own or of a near task; `None` if it belongs to none yet."""
        exact, step = own.removeprefix(STEP), STEP if own.startswith(STEP) else ""
        self._read_classes([agent])
        if self._known([(agent, exact)]):
            return own
        near = None if vector is None else self.ledger.classes[agent].best(task, vector)
        return None if near is None else step + near

    def _note_class(self, agent: str, key: str, task: str, vector: bytes | None, *, keep: bool) -> None:
        note_class(self.ledger.classes[agent], key, task, vector, keep=keep)
        self._old_classes[agent, key.removeprefix(STEP)] = True  # it may have to go from the newest before this write ends

    def _known(self, places: Sequence[AgentClass]) -> list[AgentClass]:
        """Those of the classes, which are named by tasks, of which anything is known."""
        classes, old = self.ledger.classes, self._old_classes
        unknown = [place for place in places if place[1] not in classes[place[0]] and place not in old]
        found = self.learned.known_classes(unknown) if unknown else ()
        old |= {place: place in found for place in unknown}
        return [place for place in places if place[1] in classes[place[0]] or old.get(place)]

    def _read_classes(self, agents: Iterable[str]) -> None:
        """Has the newest classes of the agents in the ledger."""
        missing = [agent for agent in agents if agent not in self.ledger.classes]
        if not missing:
            return
        found = self.learned.classes(missing, most=MOST_CLASSES)
        vectors = self.write.stored.vectors(stored.evidence.task or "" for some in found.values() for stored in some)
        for agent, some in found.items():
            self.ledger.take_classes(agent, some, vectors)

    def _read_books(self, places: Iterable[AgentClass]) -> None:
        """Has the evidence on the classes in the ledger, as far as there is any; these classes as those that were asked for last."""
        books = self.ledger.books
        missing = [place for place in places if place not in books]
        if not missing:
            return
        found = self.learned.of_classes(missing, most=MOST_STRATEGIES + 1)
        vectors = self.write.stored.vectors(matched_text(stored.evidence.strategy) for some in found.values() for stored in some)
        for place, some in found.items():
            books[place] = ClassBook.of(some, vectors)

    def _book(self, agent: str, key: str) -> ClassBook | None:
        """The evidence on a class; `None` if there is none."""
        self._read_books([(agent, key)])
        book = self.ledger.books.pop((agent, key), None)
        if book is not None:
            self.ledger.books[agent, key] = book  # as the one that was asked for last
        return book

    def _whole(self, book: ClassBook, agent: str, key: str, task: str, vector: bytes | None) -> Entry:
        if book.whole is None:
            stored = None if book.is_whole else self.learned.at(agent, key, WHOLE_CLASS)
            book.put(Entry.of(stored, None) if stored else _new(agent, key, WHOLE_CLASS, "", task, vector))
        assert book.whole is not None
        return book.whole

    def _strategy(self, book: ClassBook, outcome: Outcome, key: str, vectors: Mapping[str, bytes]) -> Entry:
        """The evidence on the strategy of an outcome: of the same words, else of the same meaning, else new."""
        strategy, text = outcome.strategy_used, matched_text(outcome.strategy_used)
        hashed, vector = text_key(strategy), vectors.get(text)
        found = book.strategies.get(hashed)
        if found is None and not book.is_whole and (stored := self.learned.at(outcome.agent, key, hashed)):
            found = Entry.of(stored, vector)
        if found is not None:
            self._keep_vectors({text: vector})  # it may have gone while the outcomes were undone
        elif vector is not None and text == strategy:
            near = book.known.best(text, vector)
            found = book.strategies[near] if near else None
        if found is None:
            is_first = not book.strategies and book.whole is not None and book.whole.stored is None
            task = book.whole.evidence.task if is_first and book.whole else None
            return _new(outcome.agent, key, hashed, strategy, task, vector)
        return found


def _task(passages: Sequence[Passage]) -> str:
    """The passage that tells the task: the first one by its position, however they were given."""
    return min(passages, key=lambda passage: passage.position).text


def _new(agent: str, key: str, hashed: str, text: str, task: str | None, vector: bytes | None) -> Entry:
    return Entry(None, Evidence(evidence_id(agent, key, hashed), agent, key, hashed, text, task=task), vector)
