"""Code that runs in the middle of a call of its own thread, and calls ALMA or ends that call: a signal handler, Ctrl-C, an embedder."""

import dis
import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import _GeneratorContextManager, suppress
from functools import cache, partial
from itertools import count
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from pytest_mock import MockerFixture

import alma as package
from alma import ALMA, AlmaError, StorageError
from alma.testing import MockEmbedder
from facade import OpenStore
from stores import Driver

SOURCES = str(package.__path__[0])
LONGEST = 240.0
"""Seconds after which a call is taken to wait for itself."""

Call = Callable[[ALMA, str], object]


def learned(alma: ALMA, task: str) -> object:
    return alma.learn("victor", task, "success", strategy_used="blue-green", task_type="deploy")


def retrieved(alma: ALMA, task: str) -> object:
    return alma.retrieve(task, agent="victor")


def attempted(alma: ALMA, task: str) -> object:
    with alma.episode("victor", task) as episode:
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.succeed(strategy="blue-green")
    return alma.strategies(task, agent="victor")


CALLS: dict[str, Call] = {"learn": learned, "retrieve": retrieved, "episode": attempted}


@cache
def _checked(code: CodeType) -> frozenset[int]:
    """Returns the instructions before which Python runs a signal handler: those after a call, at the start of a function, and where it jumps back."""
    found, before, start = set(), "", 0
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(at: int) -> object:
        return next((entry.target for entry in table if entry.start <= at < entry.end), None)

    for instruction in dis.get_instructions(code):
        is_after = before.startswith("CALL") and handler(start) == handler(instruction.offset)
        if before == "RESUME" or is_after:
            found.add(instruction.offset)
        if "BACKWARD" in instruction.opname:
            found.add(instruction.argval)
        before, start = instruction.opname, instruction.offset
    return frozenset(found)


class Interrupt:
    """Runs a call, and an action at the n-th point in ALMA's code at which Python would run a signal handler."""

    def __init__(self, at: int, action: Callable[[], object]) -> None:
        self._left, self._action = at, action
        self.happened = False

    def run(self, call: Callable[[], object]) -> object:
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            return call()
        finally:
            sys.settrace(before)

    def _entered(self, frame: FrameType, event: str, given: object) -> Any:
        if self.happened or not frame.f_code.co_filename.startswith(SOURCES):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, given: object) -> Any:
        if event == "opcode" and not self.happened and frame.f_lasti in _checked(frame.f_code):
            self._left -= 1
            if not self._left:
                self.happened = True
                sys.settrace(None)
                self._action()
        return self._stepped


def _in_time(call: Callable[[], Any]) -> Any:
    """Returns what a call returns in a thread of its own. Fails if it does not end."""
    done: Future[Any] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - for the caller
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return done.result(LONGEST)


def _interrupted(call: Callable[[str], object], action: Callable[[], object], *, every: int, first: int) -> Iterator[Interrupt]:
    """Runs the call again and again, each time interrupted at a later point, until it ends before that point comes."""
    for at in count(first, every):
        interrupt = Interrupt(at, action)
        with suppress(KeyboardInterrupt):
            interrupt.run(partial(call, f"Deploy service {at}"))
        if not interrupt.happened:
            return
        yield interrupt


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("inner", [*CALLS])
@pytest.mark.parametrize("outer", [*CALLS])
def test_a_signal_handler_that_calls_in_the_middle_of_a_call_gets_an_answer_or_an_error_at_once(
    open_store: OpenStore, outer: str, inner: str
) -> None:
    alma, got = open_store(), list[str]()
    learned(alma, "Deploy the first service")

    def handler() -> None:
        try:
            CALLS[inner](alma, "Deploy from a handler")
            got.append("answered")
        except AlmaError as error:
            got.append(str(error))

    def work() -> int:
        def call(task: str) -> object:
            learned(alma, f"{task} first")  # so that the caches have something to take in
            return CALLS[outer](alma, task)

        return len(list(_interrupted(call, handler, every=307, first=5)))

    assert _in_time(work) == len(got)
    assert "answered" in got
    # What is read inside a look of the same thread is as of the beginning of that look: an episode begun there is not in it.
    clear = ("answered", "in the middle of", "its beginning was undone")
    assert [each for each in got if not any(words in each for words in clear)] == []
    assert _in_time(lambda: retrieved(alma, "Deploy the first service").outcomes)  # type: ignore[attr-defined]
    assert alma.verify().ok


def written_many(alma: ALMA, task: str) -> object:
    return alma.learn_many(
        {"agent": agent, "task": f"{task} {agent}", "outcome": "failure", "strategy_used": "force push"}
        for agent in ("victor", "ann")
    )


def purged(alma: ALMA, task: str) -> object:
    return alma.purge([outcome.id for outcome in alma.list_memories("outcome", limit=2)])


def copied(alma: ALMA, task: str) -> object:
    """Exports the memories, purges some, and imports these again."""
    file = io.BytesIO()
    alma.export(file)
    purged(alma, task)
    file.seek(0)
    return alma.import_from(file, on_conflict="skip")


LONG_CALLS: dict[str, Call] = {
    "learn_many": written_many,
    "purge": purged,
    "import": copied,
    "reindex": lambda alma, task: alma.reindex("hash"),
    "maintain": lambda alma, task: alma.maintain(),
}


def seen(alma: ALMA) -> list[object]:
    """What questions find, and with which scores."""
    found: list[object] = [alma.content_hash()]
    for task in ("Deploy service 3", "Deploy afterwards 1", "Deploy the first service"):
        recalled = alma.retrieve(task, agent="victor", explain=True).recalled
        found += [(each.memory.id, round(each.score, 9)) for each in recalled]
        found += [row.model_dump(exclude={"last_used"}) for row in alma.strategies(task, agent="victor")]
    return found


@pytest.mark.slow
@pytest.mark.exhaustive
# An interrupt may come when a connection is made and not yet kept, or is about to be given back: it is closed when it is collected, after the store
# was closed. Python says so from 3.13 on.
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
@pytest.mark.parametrize(
    ("kind", "every"),
    [(kind, 251) for kind in CALLS]
    + [("learn_many", 397), ("purge", 1499), ("import", 1999), ("reindex", 211), ("maintain", 211)],
)
def test_an_interrupt_at_any_point_leaves_a_store_that_works(open_store: OpenStore, kind: str, every: int) -> None:
    alma = open_store()

    def stop() -> None:
        raise KeyboardInterrupt

    def work() -> int:
        def call(task: str) -> object:
            learned(alma, f"{task} first")
            return (CALLS | LONG_CALLS)[kind](alma, task)

        number = 0
        for number, _ in enumerate(_interrupted(call, stop, every=every, first=3), start=1):
            with open_store() as anew:
                assert seen(alma) == seen(anew)
            task = f"Deploy afterwards {number}"
            learned(alma, task)
            found = alma.retrieve(task, agent="victor", top_k=3)
            assert task in [outcome.task_description for outcome in found.outcomes]
        return number

    assert _in_time(work) > 4
    _in_time(lambda: attempted(alma, "Deploy in another thread"))
    assert alma.verify().ok


@pytest.mark.not_on("file", "postgres", reason="connections of SQLite")
def test_a_view_that_an_interrupt_left_open_is_not_read_any_more(open_store: OpenStore, mocker: MockerFixture) -> None:
    driver = Driver()
    mocker.patch("sqlite3.connect", driver.connect)
    alma = open_store()
    learned(alma, "Deploy the first service")
    leave = _GeneratorContextManager.__exit__.__code__
    for nth in range(1, 40):
        left = nth

        def trace(frame: FrameType, event: str, given: object) -> None:
            nonlocal left
            left -= frame.f_code is leave
            if not left:
                sys.settrace(None)
                raise KeyboardInterrupt  # as `__exit__` begins, before its first line

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            alma.retrieve("Deploy the first service", agent="victor")
        except KeyboardInterrupt as error:
            kept = error  # as an interactive session keeps the last error, and with it all that its functions held
        finally:
            sys.settrace(before)
        task = f"Deploy afterwards {nth}"
        learned(alma, task)
        found = alma.retrieve(task, agent="victor", top_k=3)
        assert task in [outcome.task_description for outcome in found.outcomes]
        if left > 0:
            break
    assert kept
    assert 5 < nth < 39
    alma.close()  # closes all connections but those in use
    assert driver.open == 0


class CallingEmbedder:
    """Calls ALMA in the middle of embedding, once at a time. Says nothing of words, so that it is asked for its scale."""

    def __init__(self) -> None:
        self._embedder = MockEmbedder(model="calling")
        self.fingerprint = self._embedder.fingerprint
        self.inside: Callable[[], object] | None = None
        self.got: list[object] = []

    def embed(self, texts: Sequence[str], /) -> "np.ndarray[Any, np.dtype[np.float32]]":
        if (inside := self.inside) is not None:
            self.inside = None
            self.got.append(inside())
            self.inside = inside
        return self._embedder.embed(texts)


@pytest.mark.parametrize("outer", [*CALLS, "check"])
@pytest.mark.parametrize("inner", [*CALLS, "check"])
def test_an_embedder_may_call_the_store_that_calls_it(open_store: OpenStore, outer: str, inner: str) -> None:
    embedder = CallingEmbedder()
    alma = open_store(embedding_provider=embedder)
    calls: dict[str, Call] = {**CALLS, "check": lambda alma, task: alma.check("victor", task)}
    embedder.inside = lambda: calls[inner](alma, "Deploy from the embedder")
    _in_time(lambda: calls[outer](alma, "Deploy the service"))
    embedder.inside = None
    if outer in ("learn", "check"):
        assert embedder.got
    assert _in_time(alma.verify).ok


def test_a_write_in_the_middle_of_a_write_of_its_thread_is_an_error(open_store: OpenStore) -> None:
    alma = open_store()
    learned(alma, "Deploy the service")
    project = alma.storage.project("shop")
    with project.write(actor="victor", operation="learn", at=1), pytest.raises(StorageError, match="in the middle of a write"):
        learned(alma, "Deploy another")
    learned(alma, "Deploy a third")
