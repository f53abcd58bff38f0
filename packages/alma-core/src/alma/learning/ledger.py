"""Evidence in hand: what was read of a project, kept from one call to the next as long as nobody else changes it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from alma.evidence import Interval, Tally, rest
from alma.learning.known_texts import KnownTexts
from alma.learning.matching import least_for_task, may_be_same_task, same_strategy, same_task
from alma.text import matched_text
from alma.types.evidence import BY_TASK, STEP, WHOLE_CLASS, Evidence, StoredEvidence, Told, evidence_id, text_key

MOST_STRATEGIES = 256
"""So many strategies of a class are compared with a new one: those tried most often and last."""

MOST_CLASSES = 256
"""So many classes of an agent are compared with a new task: the newest, and those seen last."""

MOST_BOOKS = 64
"""So many classes, and so many agents, are kept in hand between two calls, twice as many at times."""

MOST_KEPT_VECTORS = 4_096
"""Of so many strategies it is remembered that their vectors are stored."""

WORTH_JUDGING = 2
"""With fewer successes and failures than this, a strategy is no rule yet."""


Vectors = Mapping[str, bytes]
"""Float16 vectors by text."""


@dataclass(slots=True)
class Entry:
    """One piece of evidence: as it is stored, if it is, as it is now, and the vector of its text.

    `told` is what its anti-pattern says, once that was looked up; `steady` the interval in which the success of the others may move before its rules
    have to be judged again.
    """

    stored: StoredEvidence | None
    evidence: Evidence
    vector: bytes | None
    told: Told | None = None
    steady: Interval | None = None

    @classmethod
    def of(cls, found: StoredEvidence, vector: bytes | None) -> "Entry":
        """Evidence as it was read. That of a single outcome is in no row of its own yet."""
        return cls(found if found.is_stored else None, found.evidence, vector)

    @property
    def is_changed(self) -> bool:
        """Whether it has to be written."""
        return self.stored is None or self.stored.evidence is not self.evidence

    @property
    def may_be_a_rule(self) -> bool:
        """Whether it has to be judged when the others of its class change."""
        seen = self.evidence
        return bool(seen.heuristic or seen.anti_pattern) or max(seen.lifetime.successes, seen.lifetime.failures) >= WORTH_JUDGING


@dataclass(slots=True)
class ClassBook:
    """A class of an agent's tasks: the evidence on the whole, and on the strategies that were tried. `is_whole`: on all of them.

    `armed` are the strategies that may be a rule.
    """

    whole: Entry | None
    strategies: dict[str, Entry]
    is_whole: bool
    armed: dict[str, Entry] = field(default_factory=dict)
    known: KnownTexts = field(default_factory=lambda: KnownTexts(same_strategy, capacity=MOST_STRATEGIES))

    @classmethod
    def of(cls, found: Sequence[StoredEvidence], vectors: Vectors) -> "ClassBook":
        """A class as it was read, at most one piece of evidence more than is compared, with what vectors there are of the strategies."""
        book = cls(None, {}, is_whole=len(found) <= MOST_STRATEGIES)
        for stored in reversed(found):
            book.put(Entry.of(stored, vectors.get(matched_text(stored.evidence.strategy))))
        if book.whole is None and book.is_whole and found:
            book.whole = _whole(found[0].evidence)
        return book

    def put(self, entry: Entry) -> None:
        """Takes in evidence, on the whole or on a strategy."""
        if entry.evidence.is_whole_class:
            self.whole = entry
            return
        key = entry.evidence.strategy_hash
        self.strategies[key] = entry
        may_be_a_rule = entry.may_be_a_rule
        if may_be_a_rule:
            self.armed[key] = entry
        if key in self.known:
            self.known.touch(key, keep=may_be_a_rule)
        elif self.known.add(key, matched_text(entry.evidence.strategy), entry.vector, keep=may_be_a_rule):
            self.is_whole = False

    def shrink(self) -> None:
        """Lets go of the strategies that had to go for others, once they are written."""
        if len(self.strategies) > len(self.known):
            self.strategies = {key: entry for key, entry in self.strategies.items() if key in self.known}
            self.armed = {key: entry for key, entry in self.armed.items() if key in self.known}

    def rest(self, entry: Entry) -> float:
        """The rate that a strategy is compared with: that of all else that was tried in this class."""
        own, whole = entry.evidence.lifetime, self.whole.evidence.lifetime if self.whole else Tally()
        return rest(max(whole.successes - own.successes, 0.0), max(whole.trials - own.trials, 0.0))

    def changed(self) -> Iterator[Entry]:
        """What has to be written. A class with a single outcome needs no evidence on the whole: that on its strategy says it all."""
        whole = self.whole
        if whole is not None and whole.is_changed and (whole.stored or not self.strategies or whole.evidence.observations > 1):
            yield whole
        yield from (entry for entry in self.strategies.values() if entry.is_changed)


def _whole(only: Evidence) -> Entry:
    """The evidence on a class in which one strategy alone was tried, once."""
    key = evidence_id(only.agent, only.task_class, WHOLE_CLASS)
    whole = Evidence(key, only.agent, only.task_class, WHOLE_CLASS, "", task=only.task)
    counted = replace(whole, lifetime=only.lifetime, unverified=only.unverified, observed_at=only.observed_at)
    return Entry(None, counted, None)


@dataclass(slots=True)
class Ledger:
    """The evidence of a project as of the newest record that changed any, `upto`; read class by class, as it is asked for.

    `kept_vectors` are texts of strategies whose vectors are stored.
    """

    upto: int
    books: dict[tuple[str, str], ClassBook] = field(default_factory=dict)
    classes: dict[str, KnownTexts] = field(default_factory=dict)
    kept_vectors: set[str] = field(default_factory=set)

    def take_classes(self, agent: str, found: Sequence[StoredEvidence], vectors: Vectors) -> KnownTexts:
        """Takes in the classes of an agent, newest first as they are read, by the tasks that stand for them."""
        known = self.classes[agent] = KnownTexts(same_task, capacity=MOST_CLASSES, least=least_for_task, may_be=may_be_same_task)
        for stored in reversed(found):
            seen = stored.evidence
            note_class(known, seen.task_class, seen.task or "", vectors.get(seen.task or ""), keep=seen.observations > 1)
        return known

    def shrink(self) -> None:
        """Lets go of the classes that were not asked for lately."""
        if len(self.books) > 2 * MOST_BOOKS:
            self.books = dict(list(self.books.items())[-MOST_BOOKS:])
        if len(self.classes) > 2 * MOST_BOOKS:
            self.classes = dict(list(self.classes.items())[-MOST_BOOKS:])
        if len(self.kept_vectors) > MOST_KEPT_VECTORS:
            self.kept_vectors.clear()


def note_class(known: KnownTexts, task_class: str, task: str, vector: bytes | None, *, keep: bool) -> None:
    """Makes a class known by the task that names it, or the newest of those that are; not one that its type names.

    Steps of another task of the class have evidence, too, with that task on it: which row comes first must not decide what a class is known by.
    """
    key = task_class.removeprefix(STEP)
    if key in known:
        known.touch(key, keep=keep)
    elif key == f"{BY_TASK}{text_key(task)}":
        known.add(key, task, vector, keep=keep)
