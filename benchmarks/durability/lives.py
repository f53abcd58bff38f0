"""The life of one process of writers: threads that make calls, further opens, forks; ended by a kill or by the stop file."""

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from benchmarks.durability import calls
from benchmarks.durability.calls import CallMaker
from benchmarks.durability.hands import Hand, new_hand
from benchmarks.durability.intents import Intent
from benchmarks.durability.ledgers import Ledger
from benchmarks.durability.stores import Opens

STOP = "stop"
READY = ".ready"
STACKS = ".stacks"
CHILD_SECONDS = 20
CHILD_CALLS = 6
MOST_EXTRAS = 3
KILLED_CHILDREN = 0.3
"""The share of children that their parent kills."""


@dataclass(frozen=True, slots=True)
class Life:
    """How a process lives. `opens` and `forks` are shares of all that it does; `work` names the calls that it chooses from."""

    name: str
    store: Path
    files: Path
    seed: str
    threads: int = 1
    opens: float = 0.0
    forks: float = 0.0
    work: str = "every"
    calls: int | None = None
    """The number of calls that each thread makes; `None`: until it is stopped."""
    kills_children: bool = True


WORK: Mapping[str, Mapping[CallMaker, int]] = {"every": calls.EVERY, "long": calls.LONG, "reindexing": calls.REINDEXING}


def live(life: Life) -> None:
    """Runs until the stop file is there, the calls are made, or the process is killed."""
    _become_a_group(life)
    with contextlib.suppress(_NotOpenedError):
        opens = _first_open(life)
        (life.files / f"{life.name}{READY}").touch()
        hands = [new_hand(f"{life.name}t{number}", opens, life.files, life.seed) for number in range(life.threads)]
        threads = [threading.Thread(target=_work, args=(hand, life), name=hand.name) for hand in hands[1:]]
        for thread in threads:
            thread.start()
        _work(hands[0], life)
        for thread in threads:
            thread.join()
        with hands[0].calling(Intent("close")):
            for alma in (*(extra for hand in hands for extra in hand.extras), opens.main):
                alma.close()


class _NotOpenedError(Exception):
    """The store could not be opened; the ledger says why."""


def _first_open(life: Life) -> Opens:
    ledger = Ledger(life.files / f"{life.name}.ledger")
    ledger.intend(Intent("open"))
    try:
        opens = Opens(life.store)
    except Exception as error:
        ledger.raised("failed", f"{type(error).__name__}: {error}")
        raise _NotOpenedError from error
    ledger.acknowledge({}, wrote=False)
    return opens


def _become_a_group(life: Life) -> None:
    """Makes the process killable with its children, and lets it write down the stacks of its threads when it is asked to by SIGUSR1."""
    os.setsid()
    faulthandler.register(signal.SIGUSR1, file=(life.files / f"{life.name}{STACKS}").open("w"), all_threads=True)


def _work(hand: Hand, life: Life) -> None:
    stop, made = life.files / STOP, 0
    children: list[int] = []
    while not stop.exists() and (life.calls is None or made < life.calls):
        made += 1
        chance = hand.chance.random()
        if chance < life.forks:
            children.append(_fork(hand, life))
        elif chance < life.forks + life.opens:
            _open_or_close(hand)
        else:
            call(hand, life.work)
        children = [pid for pid in children if not _is_gone(pid, hand)]
    for pid in children:
        _wait_for(pid, hand)


def call(hand: Hand, work: str) -> None:
    """Makes one of the calls."""
    kinds = WORK[work]
    hand.chance.choices(list(kinds), weights=list(kinds.values()))[0](hand)


def _open_or_close(hand: Hand) -> None:
    if len(hand.extras) >= MOST_EXTRAS or (hand.extras and hand.chance.random() < 0.5):
        hand.close_one()
    else:
        hand.open_another()


def _fork(hand: Hand, life: Life) -> int:
    """A child that goes on with the opens of its parent, and ends with or without closing them."""
    hand.number += 1
    name = f"{hand.name}f{hand.number}"
    sys.stdout.flush()
    is_killed, pid = life.kills_children and hand.chance.random() < KILLED_CHILDREN, os.fork()
    if pid:
        if is_killed:
            threading.Timer(hand.chance.uniform(0, 0.03), _kill_child, [pid]).start()
        return pid
    try:
        _live_as_child(hand, name, life)
    finally:
        os._exit(0)


def _kill_child(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended, and was waited for
        os.kill(pid, signal.SIGKILL)


def _live_as_child(hand: Hand, name: str, life: Life) -> None:
    with (life.files / f"{name}{STACKS}").open("w") as stacks:
        faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True, file=stacks)
        child = new_hand(name, hand.opens, life.files, life.seed, is_forked=True)
        child.extras = list(hand.extras)
        for _ in range(child.chance.randrange(1, CHILD_CALLS)):
            if child.chance.random() < life.opens:
                _open_or_close(child)
            else:
                call(child, life.work)
        if child.chance.random() < 0.5:
            with child.calling(Intent("close")):
                for alma in (*child.extras, child.opens.main):
                    alma.close()


def _is_gone(pid: int, hand: Hand) -> bool:
    found, status = os.waitpid(pid, os.WNOHANG)
    if found:
        _judge(status, hand)
    return bool(found)


def _wait_for(pid: int, hand: Hand) -> None:
    until = monotonic() + 2 * CHILD_SECONDS
    while not _is_gone(pid, hand):
        if monotonic() > until:
            hand.ledger.complain(f"child {pid} did not end")
            os.kill(pid, signal.SIGKILL)
        sleep(0.002)


def _judge(status: int, hand: Hand) -> None:
    """A child is to end by itself, with 0, unless its parent killed it."""
    if status and os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        hand.ledger.complain(f"a child ended with {os.waitstatus_to_exitcode(status)}; see its {STACKS} file")
