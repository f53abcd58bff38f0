"""One round: writers on one store, killed at random instants; then the check."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, perf_counter, sleep

from alma import ALMA
from alma.errors import EmbedderMismatchError
from benchmarks.durability.calls import recording
from benchmarks.durability.checking import Checked, Search, answered, check, check_files
from benchmarks.durability.findings import Findings
from benchmarks.durability.hands import new_hand
from benchmarks.durability.lives import READY, STACKS, STOP, Life, live
from benchmarks.durability.plans import Plan, Worker
from benchmarks.durability.processes import Asked, ended, has_group, kill, started, wait_until
from benchmarks.durability.stores import Opens, opened

FOUNDER = "founder"
LEAST_SECONDS = 0.3
"""So long a round lasts in which nobody is killed."""

START_SECONDS = 60.0
END_SECONDS = 90.0
CHECK_SECONDS = 600.0
WORK_SECONDS = 1200.0


@dataclass(slots=True)
class Round:
    """What came of a round."""

    plan: Plan
    checked: Checked
    kills: int = 0
    seconds: float = 0.0
    hangs: list[str] = field(default_factory=list)

    @property
    def findings(self) -> Findings:
        """All faults of the round."""
        return self.checked.findings


@dataclass(slots=True)
class _Running:
    worker: Worker
    process: BaseProcess
    generation: int = 0
    due: float | None = None

    @property
    def name(self) -> str:
        return f"{self.worker.name}g{self.generation}"


def run(plan: Plan, folder: Path) -> Round:
    """Runs a round in a folder of its own."""
    began = perf_counter()
    store, files = folder / "store", folder / "files"
    files.mkdir(parents=True)
    if not plan.creation:
        Asked(found, store, files, plan.seed).answer(START_SECONDS)
        (folder / "store-link").symlink_to(store)
    result = Round(plan, Checked())
    with _witness(plan, store) as witness:
        _write(plan, store, files, result)
        result.checked = _answer(Asked(check, store, files, plan.seed), CHECK_SECONDS, result)
        if witness is not None:
            witness.ask((result.checked.hashes, result.checked.searches))
            result.findings.merge(_answer(witness, CHECK_SECONDS, result).findings)
    result.findings.merge(_answer(Asked(_files_of, store, result.checked), CHECK_SECONDS, result).findings)
    for what in result.hangs:
        result.findings.add("hang", what)
    result.seconds = perf_counter() - began
    return result


def found(store: Path, files: Path, seed: str) -> None:
    """Makes the store, with something in it."""
    opens = Opens(store)
    hand = new_hand(FOUNDER, opens, files, seed)
    for made in (recording.learn_many, recording.add_many, recording.learn):
        made(hand)
    opens.main.close()


def _files_of(store: Path, checked: Checked) -> Checked:
    return Checked(check_files(store, checked))


def _answer(asked: Asked, seconds: float, result: Round) -> Checked:
    try:
        answer: Checked = asked.answer(seconds)
    except TimeoutError as error:
        result.hangs.append(f"a check: {error}")
        return Checked()
    except RuntimeError as error:
        failed = Checked()
        failed.findings.add("error", f"a check failed: {str(error)[-6000:]}")
        return failed
    return answer


def _write(plan: Plan, store: Path, files: Path, result: Round) -> None:
    """Lets the writers work until each was killed or has had its time."""
    running = [_Running(worker, _start(plan, worker, 0, store, files)) for worker in plan.workers]
    visitors = [started(visit, store, files) for _ in range(plan.visitors)]
    try:
        if not plan.creation:
            names = [files / f"{each.name}{READY}" for each in running]
            wait_until(
                lambda: all(path.exists() or not each.process.is_alive() for path, each in zip(names, running, strict=True)),
                START_SECONDS,
            )
        began = monotonic()
        for each in running:
            each.due = None if each.worker.killed_after is None else began + each.worker.killed_after
        killed = _kill_in_turn(plan, running, store, files, result)
        for each in running:
            if each.worker.calls is not None and not ended(each.process, WORK_SECONDS):
                result.hangs.append(f"{each.name} did not make its calls within {WORK_SECONDS:.0f} s{_stacks(each, files)}")
        (files / STOP).touch()
        for each in running:
            if not ended(each.process, END_SECONDS):
                result.hangs.append(f"{each.name} did not end{_stacks(each, files)}")
        for visitor in visitors:
            if not ended(visitor, END_SECONDS):
                result.hangs.append("a visitor did not end")
            elif visitor.exitcode:
                result.findings.add("error", f"a visitor ended with {visitor.exitcode}")
        for process in killed:
            if not wait_until(lambda process=process: not has_group(process), END_SECONDS):  # type: ignore[misc] # bound now
                result.hangs.append("a child whose parent was killed did not end")
                kill(process)
    finally:
        for process in (*(each.process for each in running), *visitors):
            if process.is_alive():
                kill(process)


def _stacks(running: _Running, files: Path) -> str:
    """Where the threads of a process stood when it was asked to end: without it a hang cannot be explained afterwards."""
    path = files / f"{running.name}{STACKS}"
    found = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
    return f"\n{found}" if found else ", and wrote no stacks"


def _start(plan: Plan, worker: Worker, generation: int, store: Path, files: Path) -> BaseProcess:
    name = f"{worker.name}g{generation}"
    shares = (worker.threads, worker.opens, worker.forks)
    return started(live, Life(name, store, files, plan.seed, *shares, worker.work, worker.calls, plan.kills_children))


def _kill_in_turn(plan: Plan, running: list[_Running], store: Path, files: Path, result: Round) -> list[BaseProcess]:
    """Kills each at its time; in the place of some another process begins, which is stopped at the end. Gives those that were killed."""
    killed: list[BaseProcess] = []
    latest = max((each.due for each in running if each.due is not None), default=monotonic() + LEAST_SECONDS)
    while waiting := [each for each in running if each.due is not None]:
        now = min(waiting, key=lambda each: each.due or 0.0)
        sleep(max((now.due or 0.0) - monotonic(), 0.0))
        for each in waiting if plan.at_once else [now]:
            if each.process.is_alive():
                kill(each.process, alone=each.worker.alone)
                result.kills += 1
                killed.append(each.process)
            each.due = None
            if each.worker.again:
                each.generation += 1
                each.process = _start(plan, each.worker, each.generation, store, files)
    sleep(max(latest + 0.05 - monotonic(), 0.0) if not plan.at_once else 0.0)
    return killed


def visit(store: Path, files: Path) -> None:
    """Opens the store, looks and closes it, again and again, as any command does."""
    while not (files / STOP).exists():
        with opened(store) as alma, suppress(EmbedderMismatchError):
            alma.get_stats()
        sleep(0.03)


@contextmanager
def _witness(plan: Plan, store: Path) -> Iterator[Asked | None]:
    """A process that has the store open from before the first writer until after the check."""
    if not plan.witness:
        yield None
        return
    witness = Asked(watch, store)
    try:
        yield witness
    finally:
        if witness.process.is_alive():
            kill(witness.process)


def watch(store: Path, pipe: Connection) -> Checked:
    """Searches now and then, and in the end compares what it sees with what a new process saw."""
    result = Checked()
    alma = opened(store)
    while not pipe.poll(0.02):
        alma = _opened_anew_if_re_embedded(alma, store)
    hashes, searches = pipe.recv()
    alma = _opened_anew_if_re_embedded(alma, store)
    _compare(alma, hashes, searches, result.findings)
    alma.close()
    return result


watch.listens = True  # type: ignore[attr-defined] # it is given its end of the pipe


def _opened_anew_if_re_embedded(alma: ALMA, store: Path) -> ALMA:
    try:
        alma.get_stats()
        alma.retrieve("open the shop with the lantern", FOUNDER)
    except EmbedderMismatchError:
        alma.close()
        return opened(store)
    return alma


def _compare(alma: ALMA, hashes: dict[str, str], searches: list[Search], findings: Findings) -> None:
    for name, content in hashes.items():
        if alma.for_project(name).content_hash() != content:
            findings.add("hash", f"{name}: the process that ran all the time sees other content than a new one")
    for search in searches:
        findings.checked["searches compared"] += 1
        if answered(alma, search) != search:
            findings.add("retrieval", f"{search.project}: two processes answer {search.text[:50]!r} differently")
