"""Stores of one kind of task: one way in ten wordings that always works, and a twin in which half are its opposite.

A memory that compares ways or tasks with the mean of its store has nothing to compare them with here. For a fifth task, the way must be a rule
of the prompt with most of its successes; in the twin, no row and no rule may hold both a way and its opposite.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks.played.counts import Counts
from benchmarks.played.figures import Tally
from benchmarks.played.memories import Memory, OpenMemory
from benchmarks.played.notes import NoteReader
from benchmarks.played.playing import Say
from benchmarks.played.truth import Record
from benchmarks.played.worlds import BETWEEN_ATTEMPTS, FIRST_ATTEMPT, Attempt, Question, Situation, World
from benchmarks.records import DataError

TRIALS = 20
LEAST_OF_A_RULE = 8
WORDINGS = 10
WAY, OPPOSITE = "way", "opposite"


@dataclass(frozen=True, slots=True)
class OneKind:
    """Four tasks of one kind, a fifth to ask about, a way in ten wordings and its opposite in five or more, with the error it ends in.

    A plain one names the way in every wording, and has limits. The others tell it as people do; they are reported only.
    """

    name: str
    language: str
    tasks: Sequence[str]
    asked: str
    wordings: Sequence[str]
    opposites: Sequence[str]
    error: str
    plain: bool

    def figure(self, name: str) -> str:
        """The name of a figure: those of stores that are not plain are apart."""
        return name if self.plain else f"{name}_free"

    @property
    def world(self) -> World:
        """The store as a world, for the reader of notes."""
        rates = {WAY: (1.0, 1.0), OPPOSITE: (0.0, 0.0)}
        situation = Situation("one", None, 0, self.tasks, [self.asked], rates)
        ways = {WAY: self.wordings, OPPOSITE: self.opposites}
        return World(self.name, self.language, "agent", {"one": situation}, ways, {WAY: [], OPPOSITE: [self.error]})


def read_one_kinds(path: Path) -> list[OneKind]:
    """Reads the stores of a file. `DataError` if one has not four tasks and ten wordings, or if a text stands twice."""
    try:
        stores = [OneKind(**each) for each in json.loads(path.read_text(encoding="utf-8"))["stores"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read as stores of one kind: {type(error).__name__} {error}") from error
    for each in stores:
        texts = [*each.tasks, each.asked, *each.wordings, *each.opposites, each.error]
        if len(each.tasks) != 4 or len(each.wordings) != WORDINGS or len(each.opposites) < WORDINGS // 2:
            raise DataError(f"{path}: {each.name} has not four tasks, ten wordings and five or more of the opposite")
        if len({text.casefold() for text in texts}) != len(texts):
            raise DataError(f"{path}: a text of {each.name} stands twice")
    return stores


def play_one_kind(kind: OneKind, seed: int, open_memory: OpenMemory, say: Say = lambda _: None) -> Tally:
    """Plays a store and its two twins: in one the opposite fails, in the other it succeeds as well."""
    tally, question = Tally(), Question(kind.asked, "one")
    say(f"\n######## one kind: {kind.name} seed {seed}")
    with open_memory(kind.world) as memory:
        _learn(memory, draw_alike(kind, seed))
        text = memory.retrieve(question).text
        say(text)
        tally.count(kind.figure("one_kind_heuristic"), states_rule(NoteReader(kind.world), text))
    for opposite_works in (False, True):
        log = draw_twin(kind, seed, opposite_works=opposite_works)
        with open_memory(kind.world) as memory:
            _learn(memory, log)
            _score_twin(kind, memory, Record(log), tally, say)
    return tally


def draw_alike(kind: OneKind, seed: int) -> list[Attempt]:
    """Draws twenty successes: each wording twice, each task five times, in any order."""
    return list(_draw(kind, f"alike/{seed}", [(WAY, each, True) for each in islice(cycle(kind.wordings), TRIALS)]))


def draw_twin(kind: OneKind, seed: int, *, opposite_works: bool) -> list[Attempt]:
    """Draws ten successes of the way and ten attempts of its opposite, each in five wordings, in any order."""
    half = WORDINGS // 2
    pairs = [(WAY, each, True) for each in islice(cycle(kind.wordings[:half]), TRIALS // 2)]
    pairs += [(OPPOSITE, each, opposite_works) for each in islice(cycle(kind.opposites[:half]), TRIALS // 2)]
    return list(_draw(kind, f"twin/{seed}", pairs))


def states_rule(reader: NoteReader, prompt: str) -> bool:
    """Whether a heuristic among the notes states at least eight successes of the way."""
    return any(
        said.way == WAY and said.is_advised and said.counts is not None and said.counts.successes >= LEAST_OF_A_RULE
        for note in reader.read(prompt)
        if note.is_heuristic
        for said in note.says
    )


def _draw(kind: OneKind, name: str, attempts: Sequence[tuple[str, str, bool]]) -> Iterator[Attempt]:
    chance = random.Random(f"{kind.name}/{name}")
    mixed = list(attempts)
    chance.shuffle(mixed)
    tasks = list(kind.tasks) * (TRIALS // len(kind.tasks))
    chance.shuffle(tasks)
    for number, (task, (way, wording, is_success)) in enumerate(zip(tasks, mixed, strict=True)):
        error = None if is_success else kind.error
        at = FIRST_ATTEMPT + number * BETWEEN_ATTEMPTS
        yield Attempt(task, None, "one", way, wording, is_success, error, at)


def _learn(memory: Memory, log: Sequence[Attempt]) -> None:
    for attempt in log:
        memory.learn(attempt)


def _score_twin(kind: OneKind, memory: Memory, record: Record, tally: Tally, say: Say) -> None:
    """Counts the rows and rules that hold outcomes of both ways."""
    question, reader = Question(kind.asked, "one"), NoteReader(kind.world)
    for row in memory.table(question):
        way = reader.find_way(row.strategy)
        ways = {reader.find_way(each) for each in row.wordings} - {None}
        is_mixed = len(ways) > 1 or row.counts.exceeds(record.everywhere.get(way or "", Counts()))
        tally.count(kind.figure("one_kind_mixed"), is_mixed)
        say(f"   | {row.strategy}: {row.counts} [{way}]{' MIXED' if is_mixed else ''}")
    for strategies in memory.retrieve(question).read_rules():
        tally.count(kind.figure("one_kind_mixed"), len({reader.find_way(each) for each in strategies} - {None}) > 1)
