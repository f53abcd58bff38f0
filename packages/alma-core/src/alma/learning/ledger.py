"""The ledger in hand: the newest evidence of agents as values and as arrays, kept from one call to the next."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Protocol

import numpy as np

from alma.learning.alike import AlikeStrategies
from alma.learning.experience import Experience, Question, Vectors
from alma.learning.growing_array import GrowingArray
from alma.learning.kernels import Calibration
from alma.learning.other_users import Held, OtherUsers, stands_for_users, users_of
from alma.learning.pooling import Nearness
from alma.learning.task_kernels import TaskKernels
from alma.protocols import Learned
from alma.text import matched_text
from alma.types.evidence import Evidence, StoredEvidence, bare_place, class_in, difficulty_of, type_of
from alma.types.partition import agent_in, user_in

MOST_CELLS = 4_096
"""The number of cells of an agent that an estimate rests on: those that were used last."""

MOST_BOOKS, MOST_HELD = 2_048, 24_576
"""At most this number of books, and of cells in them, are kept between two calls: about 70 MB, 2.9 kB a cell with vectors of 384 dimensions. One book
alone may hold more when it is read, of many agents."""

MOST_GROWN = 8_192
"""A book that has grown by more cells than this since it was read is read again, as a new process reads it: the newest `MOST_CELLS` of an agent."""

OTHERS = 0.5
"""The weight of a trial of another agent for the one that reads of it."""

StoredVectors = Mapping[str, bytes]
"""Float16 vectors by text."""

VectorsOf = Callable[[Iterable[str]], StoredVectors]
Owners = tuple[str, ...]
"""One owner of evidence, or all whose memories a reader reads, sorted: agents, agents for a user, all users of an
agent (`users_of`)."""

FirstOutcome = tuple[int, float | None]
"""The row of the first outcome that evidence counts, and how much of a success that was."""


class FirstOutcomes(Protocol):
    """Finds the first outcomes of evidence."""

    def first_outcomes(self, evidence_ids: Iterable[str]) -> Mapping[str, FirstOutcome]:
        """Returns the first outcome that each evidence counts: a number that rises with time, and how much of a success it was."""


class Newest(FirstOutcomes, Protocol):
    """The part of `alma.protocols.Learned` that books are read by."""

    def newest(self, owners: Iterable[str], *, most: int) -> Mapping[str, Sequence[StoredEvidence]]:
        """Returns the newest evidence of each owner, newest first."""


@dataclass(slots=True)
class Entry:
    """One cell: as it is now, as it is stored, if it is, and the first outcome that it counts. `is_due`: it has to be stored all the same."""

    evidence: Evidence
    stored: StoredEvidence | None
    first: FirstOutcome
    is_due: bool = False
    is_of_others: bool = False
    """Whether it is of users for whom the reader does not act. It counts like that of another agent."""

    def copy(self) -> "Entry":
        """Returns an equal entry, which another book changes apart from this one."""
        return Entry(self.evidence, self.stored, self.first, self.is_due, self.is_of_others)

    @property
    def is_changed(self) -> bool:
        """Whether it has to be written."""
        if self.stored is None:
            return self.is_due
        return self.stored.evidence is not self.evidence

    @property
    def is_trusted_success(self) -> bool:
        """Whether it counts a success by more than an agent's own word."""
        return self.evidence.is_trusted and self.evidence.lifetime.successes > 0


@dataclass(slots=True)
class Side:
    """Either the attempts or the steps of a book: tasks, strategies and cells, each in the order in which they were first recorded."""

    calibration: Calibration | None
    dimension: int
    task_numbers: dict[str, int] = field(default_factory=dict)
    strategies: dict[str, int] = field(default_factory=dict)
    strategy_texts: list[str] = field(default_factory=list)
    held: list[Entry] = field(default_factory=list)
    first_cells: list[int] = field(default_factory=list)
    """The number of the first cell of each task: all cells of later tasks come after it."""
    by_place: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The numbers of the cells of each task. Tuples of numbers cost the garbage collector nothing, and most tasks have one cell."""
    cells: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    tasks: TaskKernels = field(init=False)
    strategy_vectors: GrowingArray = field(init=False)
    counts: GrowingArray = field(init=False)
    places: GrowingArray = field(init=False)
    changed: dict[str, Entry] = field(default_factory=dict)
    rules: dict[int, None] = field(default_factory=dict)
    """The numbers of the cells that a rule rests on."""
    alike: AlikeStrategies = field(init=False)
    _last: "tuple[Question | None, int, int, Nearness] | None" = None
    """The last question, from which task of how many on it was asked, and the answer: one retrieval asks several times."""

    def __post_init__(self) -> None:
        self.tasks = TaskKernels(self.calibration, self.dimension)
        self.strategy_vectors = GrowingArray(self.dimension, dtype=np.float32)
        self.counts = GrowingArray(8, dtype=np.float64)
        self.places = GrowingArray(3, dtype=np.intp)
        self.alike = AlikeStrategies(self.calibration.scale if self.calibration else None)

    def put(self, entry: Entry, vectors: StoredVectors, task_vector: bytes | None = None) -> None:
        """Takes in a cell that is new, or the same one as it is now. `task_vector` is that of its task, if the words of that are held back."""
        cell = self.cells.get(entry.evidence.id)
        if cell is None:
            self._append(entry, vectors, task_vector)
        else:
            self.held[cell] = entry
            self.counts.rows[cell] = _counts(entry)
        if entry.evidence.heuristic or entry.evidence.anti_pattern:
            self.rules[self.cells[entry.evidence.id]] = None

    def entry(self, evidence_id: str) -> Entry | None:
        """The cell with an id."""
        cell = self.cells.get(evidence_id)
        return None if cell is None else self.held[cell]

    def change(self, entry: Entry, vectors: StoredVectors) -> None:
        """Takes in a cell that has to be stored if it changed."""
        self.put(entry, vectors)
        self.changed[entry.evidence.id] = entry

    def taken_changes(self) -> list[Entry]:
        """The cells that have to be stored; from now on they count as stored."""
        taken = [entry for entry in self.changed.values() if entry.is_changed]
        self.changed.clear()
        return taken

    def of_task(self, class_id: str) -> Sequence[Entry]:
        """The cells whose ids begin so: those of one task of one agent."""
        return [self.held[cell] for cell in self.by_place.get(class_id, ())]

    def task_of(self, entry: Entry) -> int:
        """The number of the task of a cell."""
        return int(self.places.rows[self.cells[entry.evidence.id], 0])

    def totals(self, strategy_hash: str) -> tuple[float, float]:
        """Returns the plain successes and trials of a strategy in these very words, on all tasks."""
        counts = self.counts.rows[self.places.rows[:, 1] == self.strategies.get(strategy_hash, -1), :2].sum(axis=0)
        return float(counts[0]), float(counts[1])

    def question_of(self, entry: Entry) -> Question:
        """The question of the task of a cell."""
        return self.tasks.question(self.task_of(entry))

    def nearness(self, question: Question | None, *, first: int = 0) -> Nearness:
        """How near the tasks from number `first` on are to a question: see `TaskKernels.nearness`."""
        last = self._last
        if last is None or last[0] is not question or last[1:3] != (first, len(self.tasks)):
            last = (question, first, len(self.tasks), self.tasks.nearness(question, self._experience, first=first))
            self._last = last
        return last[3]

    def _experience(self, tasks: int) -> Experience:
        """Returns what was tried on the first tasks. Strategies count as the same in the same words alone."""
        task, strategy, _ = self.places.rows.T
        cells = task < tasks
        counts = self.counts.rows[cells]
        return Experience(
            tasks=self.tasks.texts[:tasks],
            task_vectors=self.tasks.vectors[:tasks],
            task_types=self.tasks.types[:tasks],
            strategies=self.strategy_texts,
            same=np.eye(0),
            cell_task=task[cells],
            cell_strategy=strategy[cells],
            successes=counts[:, 0],
            trials=counts[:, 1],
            recent_successes=counts[:, 2],
            recent_trials=counts[:, 3],
            vote=counts[:, 4],
            weight=np.ones(len(counts)),
        )

    def _append(self, entry: Entry, vectors: StoredVectors, task_vector: bytes | None) -> None:
        seen = entry.evidence
        number, place = len(self.cells), class_in(seen.id)
        self.cells[seen.id] = number
        self.by_place[place] = (*self.by_place.get(place, ()), number)
        self.held.append(entry)
        task, strategy = self._task(seen, vectors, task_vector), self._strategy(seen, vectors)
        whose = seen.owner if entry.is_of_others else seen.agent
        self.places.append((task, strategy, self.agents.setdefault(whose, len(self.agents))))
        self.counts.append(_counts(entry))

    def _task(self, seen: Evidence, vectors: StoredVectors, task_vector: bytes | None) -> int:
        place, text = bare_place(seen.task_class), seen.task or ""
        stored = task_vector or vectors.get(matched_text(text))
        number = self.task_numbers.get(place)
        if number is None:
            vector = unpacked(stored, self.dimension)
            self.first_cells.append(self.cells[seen.id])
            number = self.task_numbers[place] = self.tasks.add(text, type_of(place), vector, difficulty=difficulty_of(place))
        elif (text or stored) and not self.tasks.texts[number]:
            self.tasks.complete(number, text, None if stored is None else unpacked(stored, self.dimension))
        return number

    def _strategy(self, seen: Evidence, vectors: StoredVectors) -> int:
        key = seen.strategy_hash
        if key not in self.strategies:
            self.strategies[key] = len(self.strategies)
            self.strategy_texts.append(seen.strategy)
            self.strategy_vectors.append(unpacked(vectors.get(matched_text(seen.strategy)), self.dimension))
        return self.strategies[key]


@dataclass(slots=True)
class Book:
    """The newest evidence of one agent, or of some agents together. A side is made when it is asked for: most agents record no steps."""

    calibration: Calibration | None
    dimension: int
    others: OtherUsers | None = None
    """Evidence of users whom the reader does not act for, as far as the reader may see it."""
    is_cut: bool = False
    """Whether there may be more evidence than the newest, on tasks of which it holds some, too."""
    read: int = 0
    """The number of cells that it held when it was read."""
    _sides: dict[bool, Side] = field(default_factory=dict)

    def side(self, *, is_of_steps: bool) -> Side:
        """The attempts, or the steps of them."""
        if is_of_steps not in self._sides:
            self._sides[is_of_steps] = Side(self.calibration, self.dimension)
        return self._sides[is_of_steps]

    def put(self, entry: Entry, vectors: StoredVectors) -> None:
        """Takes in a cell that is new, or the same one as it is now."""
        self.side(is_of_steps=entry.evidence.is_of_steps).put(entry, vectors)
        if self.others is not None:
            self._put_visible(self.others.note_own(entry.evidence.strategy_hash))

    def put_other(self, entry: Entry, vectors: StoredVectors) -> None:
        """Takes in a cell of another user. It counts from when the reader may see it."""
        seen = entry.evidence
        if self.others is not None and seen.names_strategy:
            of_task, of_strategy = (vectors.get(matched_text(text)) for text in (seen.task or "", seen.strategy))
            self._put_visible(self.others.add(Held(seen, entry.first, of_task, of_strategy)))

    def _put_visible(self, cells: Iterable[Held]) -> None:
        for cell in cells:
            seen, vector = cell.evidence, cell.strategy_vector
            vectors = {} if vector is None else {matched_text(seen.strategy): vector}
            side = self.side(is_of_steps=seen.is_of_steps)
            side.put(Entry(seen, None, cell.first, is_of_others=True), vectors, cell.task_vector)

    @property
    def held(self) -> int:
        """The number of its cells."""
        others = 0 if self.others is None else sum(map(len, self.others.held.values()))
        return sum(len(side.cells) for side in self._sides.values()) + others


@dataclass(slots=True)
class Ledger:
    """The books of a project as of the newest record that changed any evidence, `upto`; read as they are asked for.

    `kept_vectors` are texts of strategies whose vectors are stored. Not thread-safe.
    """

    upto: int
    calibration: Calibration | None
    dimension: int
    is_shared: bool = False
    """Whether users share everything: see `alma.types.scope.UserWall`."""
    is_provisional: bool = False
    """Whether the embedder could not be asked for its calibration. Such evidence is not cached."""
    books: dict[Owners, Book] = field(default_factory=dict)
    kept_vectors: set[str] = field(default_factory=set)
    _unswept: int = 0
    """The number of cells that were read or changed since books were last evicted."""

    _of_several: dict[str, set[Owners]] = field(default_factory=dict)
    """The books of several owners, by owner."""

    def is_held_elsewhere(self, owner: str, known: Owners) -> bool:
        """Returns True if other books than that of the `known` owners hold cells of an owner."""
        return any(owners != known for name in _names(owner) for owners in self._of_several.get(name, ()))

    def spread(self, entries: Iterable[Entry], known: Owners, vectors: StoredVectors) -> None:
        """Puts cells that changed in one book into the other books that hold their owners."""
        for entry in entries:
            holding = {owners for name in _names(entry.evidence.owner) for owners in self._of_several.get(name, ())}
            for owners in holding - {known}:
                self._put(owners, entry, vectors)

    def _put(self, owners: Owners, entry: Entry, vectors: StoredVectors) -> None:
        """Puts a copy of a cell into a book, as one that the reader may read, or as one of other users."""
        book = self.books.get(owners)
        if book is None:
            return
        if entry.evidence.owner in owners:
            book.put(entry.copy(), vectors)
        elif users_of(entry.evidence.agent) in owners and entry.evidence.user_id is not None:
            book.put_other(entry, vectors)

    def read(self, wanted: Iterable[Owners], learned: Newest, vectors_of: VectorsOf) -> None:
        """Has books of these agents, and lets them count as those that were asked for last."""
        missing: list[Owners] = []
        for agents in wanted:
            if (book := self.books.pop(agents, None)) is None:
                missing.append(agents)
            else:
                self.books[agents] = book
        if not missing:
            return
        found = learned.newest({agent for agents in missing for agent in agents}, most=MOST_CELLS)
        everything = [stored for some in found.values() for stored in some]
        self._unswept += len(everything)
        firsts, vectors = _first_outcomes(everything, learned), vectors_of(texts_of(stored.evidence for stored in everything))
        for agents in missing:
            others = OtherUsers(self.is_shared) if any(map(stands_for_users, agents)) else None
            is_cut = any(len(found[agent]) >= MOST_CELLS for agent in agents)
            book = Book(self.calibration, self.dimension, others, is_cut)
            self.books[agents] = book
            for entry in _in_order((stored for agent in agents for stored in found[agent]), firsts):
                self._put(agents, entry, vectors)
            book.read = book.held
            if len(agents) > 1:
                for agent in agents:
                    self._of_several.setdefault(agent, set()).add(agents)

    def take_in(self, found: Sequence[StoredEvidence], learned: Learned, vectors_of: VectorsOf) -> None:
        """Puts what was read into the books of its agents."""
        wanted = {agent for agents in self.books for agent in agents}
        known = [stored for stored in found if not wanted.isdisjoint(_names(stored.evidence.owner))]
        if not known:
            return
        firsts, vectors = _first_outcomes(known, learned), vectors_of(texts_of(stored.evidence for stored in known))
        for entry in _in_order(known, firsts):
            for agents in self.books:
                self._put(agents, entry, vectors)

    def shrink(self, changed: int = 0) -> None:
        """Evicts the books that were not asked for lately, where there are too many, and those that have grown too much: they are read again, as a
        new process reads them. `changed` is the number of cells that a write made or changed."""
        self._unswept += changed
        if len(self.kept_vectors) > MOST_HELD:
            self.kept_vectors.clear()
        if len(self.books) <= MOST_BOOKS and self._unswept < MOST_HELD // 4:
            return
        self._unswept = held = 0
        sizes = {agents: book.held for agents, book in self.books.items() if book.held - book.read <= MOST_GROWN}
        has_room = len(sizes) <= MOST_BOOKS and sum(sizes.values()) <= MOST_HELD
        share = 1.0 if has_room else 0.75  # else the next call would evict again
        kept: list[Owners] = []
        for agents in reversed(sizes):
            held += sizes[agents]
            if kept and (held > MOST_HELD * share or len(kept) == MOST_BOOKS * share):
                break
            kept.append(agents)
        self.books = {agents: self.books[agents] for agents in reversed(kept)}
        kept_ones = {agents for agents in kept if len(agents) > 1}
        self._of_several = {owner: left for owner, held in self._of_several.items() if (left := held & kept_ones)}


def _names(owner: str) -> Iterator[str]:
    """The names under which a book may hold evidence of an owner."""
    yield owner
    if user_in(owner) is not None:
        yield users_of(agent_in(owner))


def _first_outcomes(found: Sequence[StoredEvidence], learned: FirstOutcomes) -> dict[str, FirstOutcome]:
    """The first outcomes of evidence: that of a single outcome is at hand."""
    at_hand = {stored.evidence.id: stored.first for stored in found if stored.first is not None}
    return {**at_hand, **learned.first_outcomes(stored.evidence.id for stored in found if stored.first is None)}


def _in_order(found: Iterable[StoredEvidence], firsts: Mapping[str, FirstOutcome]) -> list[Entry]:
    """Cells in the order of their first outcomes, empty ones last: the same whichever process reads them, and as they come."""
    entries = (Entry(one.evidence, one if one.is_stored else None, firsts.get(one.evidence.id, (0, None))) for one in found)
    return sorted(entries, key=lambda entry: (not entry.evidence.observations, entry.first[0], entry.evidence.id))


def texts_of(found: Iterable[Evidence]) -> Iterator[str]:
    """The texts whose vectors a book needs."""
    for evidence in found:
        yield matched_text(evidence.task or "")
        if evidence.strategy:
            yield matched_text(evidence.strategy)


def unpacked(vector: bytes | None, dimension: int) -> Vectors:
    """A stored vector as an array; zeros where there is none."""
    if vector is None:
        return np.zeros(dimension, np.float32)
    return np.frombuffer(vector, dtype="<f2").astype(np.float32)


def _counts(entry: Entry) -> tuple[float, ...]:
    """Lifetime successes and trials, operative ones, the first vote, the same if it counts for a proof (NaN for an agent's own word), when it was
    last observed, and 1 if it counts a success by more than an agent's own word."""
    seen, vote = entry.evidence, nan if entry.first[1] is None else entry.first[1]
    tallies = (seen.lifetime.successes, seen.lifetime.trials, seen.operative.successes, seen.operative.trials)
    proof = vote if seen.is_trusted and seen.names_strategy else nan
    return (*tallies, vote, proof, seen.observed_at, float(entry.is_trusted_success))
