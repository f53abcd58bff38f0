"""One harm done to a store, and what came of it."""

import json
import os
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from alma import ALMA, MemoryNotFoundError
from alma.errors import AlmaError
from benchmarks.durability import calls
from benchmarks.durability.checking import check, check_files
from benchmarks.durability.hands import Hand, new_hand
from benchmarks.durability.processes import Asked
from benchmarks.durability.stores import SHARED, Opens, opened

HAND = "sample"
CALLS = 70
SECONDS = 60.0
NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)

VERDICTS = {
    "unharmed": "all answers right",
    "repaired": "all answers right, though what they rest on was harmed",
    "error": "a clear error of the tree, everything else right",
    "named": "an answer differed; verify names the damage",
    "taken": "what only the harmed file had is gone, as documented; the rest is sound",
    "silent": "an answer differed, and nothing says so",
    "foreign": "an error outside the tree",
    "lost": "an acknowledged call is gone",
    "hang": "no end",
    "skipped": "cannot be tried here",
}
"""What may come of a trial."""

FAULTS = ("silent", "foreign", "lost", "hang")
"""The verdicts that must not be."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What was done, and its verdict."""

    what: str
    verdict: str
    told: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scenario works, with its chance and the number of its trials."""

    folder: Path
    seed: str
    trials: int

    @property
    def chance(self) -> Random:
        """The chance of this scenario, from its start."""
        return Random(self.seed)

    def sample(self, *, is_killed: bool = False) -> "Sample":
        """A store that holds something of everything; with `is_killed` its process was killed, and its log is full."""
        base = self.folder / ("killed" if is_killed else "base")
        if not base.exists():
            (base / "files").mkdir(parents=True)
            process = Asked(_fill, base, self.seed, is_killed)
            try:
                process.answer(SECONDS)
            except RuntimeError:
                if not is_killed:
                    raise
        return Sample(base)


@dataclass(frozen=True, slots=True)
class Sample:
    """A store with the ledger of the hand that filled it."""

    folder: Path

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self.folder / "store"

    @property
    def files(self) -> Path:
        """The folder of the ledger."""
        return self.folder / "files"

    @property
    def database(self) -> Path:
        """The database file."""
        return self.store / "alma.db"

    def copy(self, name: str) -> "Sample":
        """The same once more, to be harmed."""
        target = self.folder.with_name(name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.folder, target, symlinks=True)
        return Sample(target)


def _fill(base: Path, seed: str, is_killed: bool) -> None:
    opens = Opens(base / "store")
    hand = new_hand(HAND, opens, base / "files", seed)
    work(hand, CALLS)
    if is_killed:
        for name in (SHARED, hand.solo):
            opens.view(opens.main, name)._room.index.save()
        os.kill(os.getpid(), signal.SIGKILL)
    opens.main.close()


def work(hand: Hand, count: int) -> None:
    """Makes calls of every kind."""
    for _ in range(count):
        hand.chance.choices(list(calls.EVERY), weights=list(calls.EVERY.values()))[0](hand)


def work_on_all(hand: Hand) -> None:
    """Makes a call of each kind, twice."""
    for make in (*calls.EVERY, *calls.EVERY):
        make(hand)


def tried(what: str, act: Callable[..., Trial], *arguments: object) -> Trial:
    """The trial that a process of its own makes; one that does not end is killed."""
    try:
        trial: Trial = Asked(act, what, *arguments).answer(SECONDS)
    except TimeoutError as error:
        return Trial(what, "hang", str(error))
    except RuntimeError as error:
        return Trial(what, "foreign", str(error)[-1500:])
    return trial


SOUND = {"lost", "half", "phantom", "counts", "retrieval", "wrong"}
"""Sorts of faults that a store can have which is sound in itself, but older than the ledger."""


def compared(what: str, sample: Sample, *, is_harmed: bool, may_be_older: bool = False) -> Trial:
    """Whether the store still says what the ledger says it was told; with `may_be_older` it may have lost what was told last, but nothing else."""
    checked = check(sample.store, sample.files, what)
    checked.findings.merge(check_files(sample.store, checked))
    if checked.findings.is_clean:
        return _well(what, checked.refused, is_harmed=is_harmed)
    told = [f"{sort}: {each}" for sort, faults in checked.findings.faults.items() for each in faults]
    cannot = [each for each in told if "the store cannot be read" in each]
    if cannot and checked.findings.faults.keys() <= {"lost", "files"}:
        return Trial(what, "error", cannot[0])
    if may_be_older and checked.findings.counts.keys() <= SOUND:
        return Trial(
            what, "taken", f"{checked.findings.counts['lost']} acknowledged calls and rows are gone, e.g. {told[0][:200]}"
        )
    return Trial(what, "lost", "; ".join(told)[:1500])


def _well(what: str, refused: Counter[str], *, is_harmed: bool) -> Trial:
    """The trial of a store that still says everything: calls may have been refused meanwhile, by errors of the tree."""
    refusals = [f"{told} ({count})" for told, count in refused.most_common() if "ConflictError" not in told]
    if refusals:
        return Trial(what, "error", f"{len(refusals)} kinds of calls were refused: {'; '.join(refusals[:3])}")
    return Trial(what, "repaired" if is_harmed else "unharmed")


@dataclass(slots=True)
class Answers:
    """What a store answers to every call that reads. `wrong` are errors outside the tree, `errors` those of the tree, by call."""

    given: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    is_sound: bool = True
    problems: tuple[str, ...] = ()

    def ask(self, name: str, call: Callable[[], Any]) -> Any:
        """Notes the answer to one call, or its error."""
        try:
            value = call()
        except AlmaError as error:
            self.errors[name] = f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - what is looked for
            self.foreign[name] = "".join(traceback.format_exception(error)[-4:])
        else:
            self.given[name] = value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
            return value
        return None


def answers(store: Path, known: Sequence[tuple[str, str, str]]) -> Answers:
    """Asks a store everything. `known` are ids, owners and texts of memories."""
    result = Answers()
    alma = result.ask("open", lambda: opened(store, clock=lambda: NOON))
    if not isinstance(alma, ALMA):
        return result
    result.given.pop("open")
    result.ask("verify", lambda: _verified(alma, result))
    for project in (SHARED, f"solo-{HAND}"):
        view = result.ask("for_project", partial(alma.for_project, project))
        result.given.pop("for_project", None)
        if isinstance(view, ALMA):
            _ask_all(result, view, known)
    result.ask("learn", lambda: str(len(alma.learn("somebody", "one more", "success").id)))
    result.ask("close", alma.close)
    return result


def _verified(alma: ALMA, result: Answers) -> str:
    report = alma.verify()
    result.is_sound, result.problems = report.ok, tuple(map(str, report.problems[:3]))
    return "done"


def _ask_all(result: Answers, alma: ALMA, known: Sequence[tuple[str, str, str]]) -> None:
    name = alma.project_id
    for call, act in _calls(alma):
        result.ask(f"{name}: {call}", act)
    for memory_id, owner, text in known:
        result.ask(f"{name}: get {memory_id}", partial(_found, alma, memory_id))
        result.ask(f"{name}: history {memory_id}", partial(_history, alma, memory_id))
        result.ask(f"{name}: retrieve {text[:40]}", partial(_retrieved, alma, text, owner))


def _calls(alma: ALMA) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "stats", lambda: alma.get_stats().model_dump(exclude={"database_bytes"})
    yield "list", lambda: [memory.model_dump_json() for memory in alma.list_memories(limit=1000)]
    yield "content_hash", alma.content_hash
    yield "strategies", lambda: [row.summary for row in alma.strategies(agent=HAND)]
    yield "check", lambda: str(alma.check(HAND, "restart the router twice"))
    yield "assess", lambda: alma.assess("boil seven lemons", "amber anchor", HAND, task_type="deploys").summary
    yield "episodes", lambda: [episode.model_dump_json() for episode in alma.recent_episodes(100)]
    yield "kinds", lambda: sorted(alma.memory_types())


def _found(alma: ALMA, memory_id: str) -> str:
    try:
        return alma.get(memory_id).model_dump_json()
    except MemoryNotFoundError as error:
        return str(error)


def _history(alma: ALMA, memory_id: str) -> int:
    try:
        return len(alma.history(memory_id))
    except MemoryNotFoundError:
        return 0


def _retrieved(alma: ALMA, text: str, owner: str) -> list[str]:
    return alma.retrieve(text, owner).ids


def known_of(store: Path) -> list[tuple[str, str, str]]:
    """Ids, owners and texts of some memories of a store, forgotten ones not among them."""
    with opened(store) as alma:
        found = [memory for name in (SHARED, f"solo-{HAND}") for memory in alma.for_project(name).list_memories(limit=14)]
        return [(memory.id, memory.agent or HAND, memory.text) for memory in found]


def judged(what: str, before: Answers, after: Answers, *, is_harmed: bool) -> Trial:
    """What two rounds of answers say of the harm between them."""
    wrong = {name: value for name, value in after.given.items() if name in before.given and before.given[name] != value}
    if after.foreign:
        name, told = next(iter(after.foreign.items()))
        return Trial(what, "foreign", f"{name}: {told}")
    if wrong:
        name, told = next(iter(wrong.items()))
        differs = f"{name} says {told[:200]}, not {before.given[name][:200]}"
        return Trial(what, "silent" if after.is_sound and "verify" in after.given else "named", f"{differs} | {after.problems}")
    if after.errors:
        return Trial(what, "error", "; ".join(f"{name}: {told}" for name, told in list(after.errors.items())[:2]))
    if not after.is_sound:
        return Trial(what, "named", "; ".join(after.problems))
    return Trial(what, "repaired" if is_harmed else "unharmed")


def counted(trials: Sequence[Trial]) -> Mapping[str, int]:
    """How many trials had each verdict."""
    return {verdict: sum(trial.verdict == verdict for trial in trials) for verdict in VERDICTS}
