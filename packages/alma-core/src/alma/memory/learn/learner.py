"""Learning from outcomes, inside the write that stores them: evidence is counted, and rules are made, changed, demoted and brought back."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from alma.errors import CorruptStoreError
from alma.learning.ledger import Book, Entry, Ledger, Owners, Side, texts_of
from alma.memory.learn.judging import MOST_RULES, Touched, judge
from alma.memory.quarantine import may_release, needs_quarantine, put_in, release_corroborated, take_out
from alma.memory.room import Room
from alma.memory.scopes import counted_owners
from alma.observing import Observation, blank_evidence, place_of, rebuilt, recounted, until, with_observation
from alma.protocols import Learned, StoredEvidence, Write
from alma.text import matched_text
from alma.types.evidence import STEP, Evidence, TaskPlace, class_id, class_in, evidence_id, is_of_steps, type_of
from alma.types.identity import to_micros
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import Memory, Outcome
from alma.types.partition import Partition, agent_in, owner_name, user_in
from alma.types.passages import Passage

UNKNOWN_ROW = -1
"""The row of an outcome that is about to be stored."""

NEWEST_OUTCOMES = 100
"""The outcomes before these weigh less than 0.00003 of the newest."""


def strategy_texts(outcome: Outcome) -> list[str]:
    """Returns what has to be embedded for an outcome to be learned from, beside its passages."""
    return [matched_text(outcome.strategy_used)] if outcome.strategy_used else []


def outcome_owner(outcome: Outcome) -> str:
    """The owner of an outcome and of the evidence it belongs to."""
    return owner_name(outcome.agent, outcome.user_id)


@contextmanager
def writing(room: Room, *, actor: str, operation: str, at: int) -> "Iterator[Learner]":
    """A write that learns: what is observed in it becomes evidence and rules when it ends, in the same transaction."""
    room.store.texts.calibration(room.project)  # before the lock: another embedder than ours may be asked
    with room.project.write(actor=actor, operation=operation, at=at) as write:
        learner = Learner(room, write, room.take_ledger(write), at)
        yield learner
        ledger = learner.settled()
    room.keep_ledger(ledger)


@dataclass(slots=True)
class Learner:
    """What one write observes. `ledger` is its alone while it lasts.

    The first outcome of a task is all there is to know of it, so nothing is written but the outcome; with the second one, both are counted. What is
    recorded for users is counted at once, so that the evidence of all of them is found together.
    """

    room: Room
    write: Write
    ledger: Ledger
    at: int
    learned: Learned = field(init=False)
    touched: dict[str, Touched] = field(default_factory=dict)
    """The cells near which rules have to be judged."""
    _has_observed: bool = False
    _with_users: set[str] = field(default_factory=set)
    """The agents of which this write records something for a user."""
    _looked_up: set[str] = field(default_factory=set)
    """The tasks that were looked up in this write, by the beginnings of the ids of their evidence."""
    _expected: dict[str, TaskPlace] = field(default_factory=dict)
    """The owners and the tasks of outcomes of which all is read that is known, by their ids."""

    _readers: dict[str, Owners] = field(default_factory=dict)
    """The readers that were looked for in this write, by owner."""

    _partitions: Mapping[int, Partition] = field(init=False)

    def __post_init__(self) -> None:
        self.learned = self.write.learned
        self._partitions = self.write.stored.partitions()

    def expect(self, outcomes: Iterable[tuple[Outcome, Sequence[Passage]]]) -> None:
        """Reads what is known of the agents of outcomes that are about to be added, in one go for all."""
        self._expected = {
            outcome.id: (outcome_owner(outcome), place_of(outcome, _task(passages), is_step=False))
            for outcome, passages in outcomes
        }
        self._read_books(dict.fromkeys(owner for owner, _ in self._expected.values()))
        self._read_tasks(self._expected.values())

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, is_step: bool = False) -> None:
        """Stores a memory; an outcome, of an attempt or of a step of one, is counted for its task and strategy."""
        evidence = self._observe(memory, _task(passages), vectors, is_step) if isinstance(memory, Outcome) else None
        self.write.add(memory, passages, vectors, evidence=evidence)
        if needs_quarantine(memory):
            put_in(self.write, memory, at=self.at)
        elif isinstance(memory, Outcome):
            self._release_others(memory, _task(passages), is_step=is_step)

    def _release_others(self, judged: Outcome, task: str, *, is_step: bool) -> None:
        """Lets attempts at the same task in the same way out of quarantine, if an outcome confirms what they say. Own words are counted apart."""
        if may_release(judged):
            said_by = (
                judged.model_copy(update={"verdict_source": source}) for source in (VerdictSource.CALLER, VerdictSource.AGENT)
            )
            evidence = [blank_evidence(judged, place_of(each, task, is_step=is_step), task).id for each in said_by]
            release_corroborated(self.write, judged, evidence, at=self.at)

    def _observe(self, outcome: Outcome, task: str, vectors: Mapping[str, bytes], is_step: bool) -> str:
        """Counts an outcome of a task, and returns the id of the evidence that it belongs to."""
        self._has_observed = True
        if outcome.id in self._expected:
            owner, place = self._expected[outcome.id]
            book = self.ledger.books[self.readers(owner)]
        else:
            owner, place = outcome_owner(outcome), place_of(outcome, task, is_step=is_step)
            book = self._book(owner, place)
        side = book.side(is_of_steps=is_step)
        blank = blank_evidence(outcome, place, task)
        others = [one for one in side.of_task(class_in(blank.id)) if one.stored is not None or one.evidence.observations]
        for other in others:  # the first one becomes evidence with the second
            other.is_due = True
            side.change(other, vectors)
        entry = side.entry(blank.id)
        if entry is None:
            entry = Entry(blank, None, (UNKNOWN_ROW, outcome.successes), is_due=bool(others) or outcome.user_id is not None)
        elif not entry.evidence.observations:  # a rule of several users rests on it, or may
            entry.evidence = replace(entry.evidence, task=task)
            entry.is_due = entry.is_due or bool(others)
        seen = Observation.of(outcome, recorded_at=self.at)
        entry.evidence = with_observation(until(entry.evidence, self.at), seen)
        if entry.first[1] is None and outcome.successes is not None and entry.evidence.lifetime.trials == 1:
            entry.first = entry.first[0], outcome.successes
        strategy = matched_text(outcome.strategy_used)
        if strategy:
            self._keep_vectors({strategy: vectors.get(strategy)})
        side.change(entry, vectors)
        self._spread([*others, entry], owner, vectors)
        self._touch(Touched(entry, outcome.task_type, vectors))
        return entry.evidence.id

    def judge_again(self, seen: Evidence, *, without: str, kind_of: Callable[[str], str | None]) -> None:
        """Has all rules of an owner judged again, that of a strategy first: the rule `without` rested on evidence on that, and is gone.

        `kind_of` returns the type of the task of evidence, by its id, as a caller named it.
        """
        side = self._book(seen.owner, seen.task_class).side(is_of_steps=seen.is_of_steps)
        own = [entry for entry in side.held if entry.evidence.owner == seen.owner and entry.evidence.names_strategy]
        kinds: dict[str | None, str | None] = {None: None}
        for entry in sorted(own, key=lambda entry: entry.evidence.strategy_hash == seen.strategy_hash):  # the last comes first
            if without in (entry.evidence.heuristic, entry.evidence.anti_pattern):
                entry.evidence = entry.evidence.without_rule(without)
                side.change(entry, {})
            kind = type_of(entry.evidence.task_class)
            if kind not in kinds:
                kinds[kind] = kind_of(entry.evidence.id)
            self._touch(Touched(entry, kinds[kind], {}))

    def judge_rules(self, owner: str, *, kind_of: Callable[[str], str | None]) -> None:
        """Has the rules of an owner judged again, each where it began."""
        self._read_books([owner])
        for of_steps in (False, True):
            side = self.ledger.books[self.readers(owner)].side(is_of_steps=of_steps)
            for entry in [entry for cell in side.rules if (entry := side.held[cell]).evidence.owner == owner]:
                self._touch(Touched(entry, kind_of(entry.evidence.id), {}))

    def _touch(self, touched: Touched) -> None:
        """Notes that rules near a task may change. Of a type, the last task stands for all."""
        seen = touched.entry.evidence
        kind = type_of(seen.task_class)
        name = seen.id if kind is None else f"{seen.owner}\0{seen.is_of_steps}\0{kind}\0{seen.strategy_hash}"
        self.touched.pop(name, None)
        self.touched[name] = touched

    def _keep_vectors(self, vectors: Mapping[str, bytes | None]) -> None:
        """Keeps vectors of texts that no passage has, such as strategies, as far as there are any."""
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
            take_out(self.write, outcome.id, at=self.at)
            self._release_others(outcome, _task(passages), is_step=is_of_steps(kept.evidence or ""))
        elif not kept.is_archived:
            put_in(self.write, outcome, at=self.at)
        self._has_observed = True
        stored = self.learned.behind([kept.memory]).get(kept.memory)
        if stored is None:
            return
        owner = stored.evidence.owner
        book = self._book(owner, stored.evidence.task_class)
        side = book.side(is_of_steps=stored.evidence.is_of_steps)
        entry = side.entry(stored.evidence.id)
        assert entry is not None  # its task was read
        if not stored.is_stored:
            entry.evidence = stored.evidence  # it was read after the outcome was replaced
        else:
            recount = entry.evidence if was is outcome.outcome else recounted(entry.evidence, was, outcome.outcome)
            entry.evidence = rebuilt(recount, self._newest(stored.evidence.id, outcome))
        entry.first = self.learned.first_outcomes([stored.evidence.id]).get(stored.evidence.id, entry.first)
        side.change(entry, vectors)
        self._spread([entry], owner, vectors)
        self._touch(Touched(entry, outcome.task_type, vectors))

    def _newest(self, evidence_id: str, changed: Outcome) -> Iterator[Observation]:
        """The outcomes that count for what is decided, one of them changed, in the order in which they were recorded."""
        rows = sorted(self.learned.outcomes(evidence_id, newest=NEWEST_OUTCOMES))
        kept = self.write.stored.memories(rows)
        for row in rows:
            outcome = changed if row in kept and kept[row].id == changed.id else kept.get(row)
            if isinstance(outcome, Outcome):
                yield Observation.of(outcome, recorded_at=min(to_micros(outcome.created_at), self.at))

    def settled(self) -> Ledger:
        """Writes the evidence and the rules that follow from it, and returns the ledger as it is when this write has landed."""
        self._keep_vectors(self.room.store.texts.compared)
        counts: dict[str, Mapping[str, Any]] = {}
        touched = self._touched_by_owner()
        sides = {place: self.ledger.books[self.readers(place[0])].side(is_of_steps=place[1]) for place in touched}
        self._read_warnings(sides.values())
        for place, side in sides.items():
            counts |= judge(self.room, self.write, side, touched[place], at=self.at)
        self.write.recount(counts)
        taken = [(owner, side.taken_changes()) for (owner, _), side in sides.items()]
        changed = [entry for _, entries in taken for entry in entries]
        self._store_evidence(changed)
        for owner, entries in taken:
            self._spread(entries, owner, {})
        if self._has_observed:
            self.ledger.upto = self.write.seq
        self.ledger.shrink(sum(map(len, touched.values())))
        return self.ledger

    def _read_warnings(self, sides: Collection[Side]) -> None:
        """Reads what the warnings of several owners say, in one go, where each has few: what is judged reads them one by one, if it has to."""
        if len(sides) > 1:
            cells = [side.held[cell].evidence for side in sides if len(side.rules) <= MOST_RULES for cell in side.rules]
            with suppress(CorruptStoreError):  # a damaged one may be far from what is judged
                self.write.stored.named(seen.anti_pattern for seen in cells if seen.anti_pattern is not None)

    def _spread(self, entries: Sequence[Entry], owner: str, vectors: Mapping[str, bytes]) -> None:
        """Has the evidence that counts for others, too, follow cells that changed in that of their owner."""
        known = self.readers(owner)
        if self.ledger.is_held_elsewhere(owner, known):
            missing = [text for text in texts_of(entry.evidence for entry in entries) if text not in vectors]
            self.ledger.spread(entries, known, {**self.write.stored.vectors(missing), **vectors})

    def _store_evidence(self, entries: Sequence[Entry]) -> None:
        self.write.put_evidence([(entry.stored, entry.evidence) for entry in entries])
        for entry in entries:
            entry.stored = StoredEvidence(True, entry.evidence)

    def _touched_by_owner(self) -> dict[tuple[str, bool], list[Touched]]:
        """The cells near which rules have to be judged, by their owner and whether they are of steps.

        For a cell of a user whose strategy others used, too, there is one of all users.
        """
        found: dict[tuple[str, bool], list[Touched]] = {}
        for touched in self.touched.values():
            found.setdefault((touched.entry.evidence.owner, touched.entry.evidence.is_of_steps), []).append(touched)
        for touched in list(self.touched.values()):
            seen = touched.entry.evidence
            entry = self._of_all_users(seen)
            if entry is not None:
                found.setdefault((seen.agent, seen.is_of_steps), []).append(replace(touched, entry=entry))
        return found

    def _of_all_users(self, seen: Evidence) -> Entry | None:
        """The cell on which a rule of all users rests, empty where it was never tried without a user; `None` where single users' words were all."""
        others = None if seen.user_id is None else self.ledger.books[self.readers(seen.agent)].others
        if others is None or not seen.names_strategy or not others.is_common(seen.strategy_hash):
            return None
        self._read_tasks([(seen.agent, seen.task_class)])
        side = self.ledger.books[self.readers(seen.agent)].side(is_of_steps=seen.is_of_steps)
        cell = evidence_id(seen.agent, seen.task_class, seen.strategy_hash)
        entry = side.entry(cell)
        if entry is None:
            task = others.visible_task(seen)
            empty = Evidence(cell, seen.agent, seen.task_class, seen.strategy_hash, seen.strategy, observed_at=self.at, task=task)
            entry = Entry(empty, None, (UNKNOWN_ROW, None))
            side.put(entry, {})
        return entry

    def readers(self, owner: str) -> Owners:
        """Returns whose evidence counts for the rules of an owner."""
        found = self._readers.get(owner)
        if found is None:
            agent = agent_in(owner)
            has_users = agent in self._with_users or self.room.has_users(agent, self._partitions)
            found = self._readers[owner] = counted_owners(self.room, owner, has_users=has_users)
        return found

    def _book(self, owner: str, place: str) -> Book:
        """The evidence that counts for an owner, that on a task of its among it."""
        self._read_books([owner])
        self._read_tasks([(owner, place)])
        return self.ledger.books[self.readers(owner)]

    def _read_books(self, owners: Iterable[str]) -> None:
        """Has the newest evidence of the owners in the ledger, these as those that were asked for last."""
        wanted = list(owners)
        of_users = [agent_in(owner) for owner in wanted if user_in(owner) is not None]
        if not self._with_users.issuperset(of_users):
            self._with_users |= set(of_users)
            self._readers.clear()
        self.ledger.read(map(self.readers, [*of_users, *wanted]), self.learned, self.write.stored.vectors)

    def _read_tasks(self, places: Iterable[TaskPlace]) -> None:
        """Has the evidence on tasks of which the ledger may lack some: it has the newest alone, without what is damaged."""
        missing = {class_id(*place) for place in places if self._may_lack(*place)} - self._looked_up
        if missing:
            self._looked_up |= missing
            self.ledger.take_in(self.learned.of_tasks(missing), self.learned, self.write.stored.vectors)

    def _may_lack(self, owner: str, place: str) -> bool:
        book = self.ledger.books[self.readers(owner)]
        return book.is_cut or not book.side(is_of_steps=place.startswith(STEP)).of_task(class_id(owner, place))


def _task(passages: Sequence[Passage]) -> str:
    """The passage that states the task: the first one by its position, however they were given."""
    return min(passages, key=lambda passage: passage.position).text
