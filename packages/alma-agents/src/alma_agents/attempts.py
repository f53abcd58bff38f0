"""Attempts: what a session teaches. A failure followed by the same command passing is one, what was changed between is its strategy."""

import hashlib
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from alma_agents import options, shell
from alma_agents.events import EDIT, SHELL, TOOL, Event
from alma_agents.runs import Ran, Runs
from alma_agents.signatures import error_of, masked
from alma_agents.spool import repository_of

MOST_CALLS = 60
"""Calls between a failure and its pass. What is further apart is not taken as its repair."""

MOST_OPEN = 500
"""Failures of a session that wait for their pass. The oldest gives way."""

MOST_TRIED = 5
"""Strategies of an attempt that did not help, at most."""

_STRATEGY = 900


class Attempt(NamedTuple):
    """One repair, or one failure that stayed. `passed` is False where it ended without a pass: unverified.

    `tried` are the strategies after which the command failed in the same way again.
    """

    host: str
    session: str
    call: str
    at: float
    command: str
    kind: str
    error: str
    strategy: str
    passed: bool
    failures: int
    tried: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Names the attempt, however often it is read."""
        parts = (self.host, self.session, self.call, "passed" if self.passed else "open")
        return f"coding-{hashlib.sha256('|'.join(parts).encode('utf-8', 'replace')).hexdigest()[:32]}"


class _Change(NamedTuple):
    place: int
    path: str
    old: str
    new: str
    summary: str


class _Open:
    """A failure whose command has not passed yet."""

    def __init__(self, command: shell.Command, event: Event, place: int, error: str) -> None:
        self.command, self.event, self.place, self.error = command, event, place, error
        self.failures = 1
        self.changes: list[_Change] = []
        self.tried: list[str] = []
        self.tested = ""
        """The changes before the last time that it failed: what was changed later was not tried on it."""

    @property
    def strategy(self) -> str:
        """The changes since the failure, as one text."""
        return _joined(change.summary for change in self.changes)

    def failed_again(self, error: str) -> None:
        """Notes another failure, and what did not prevent it."""
        self.failures += 1
        self.tested = self.strategy
        if masked(error) == masked(self.error) and self.changes and len(self.tried) < MOST_TRIED:
            self.tried.append(self.strategy)

    def add(self, change: _Change) -> None:
        """Adds what was changed, unless it came too late to be part of a repair."""
        if change.place - self.place <= MOST_CALLS:
            self.changes.append(change)


def attempts(events: Iterable[Event], *, root: str = "", is_over: bool = True) -> list[Attempt]:
    """Returns the attempts in the events of one session, in the order in which they ended. Calls that are there twice count once.

    Unless the session `is_over`, failures that may still pass are left out.
    """
    session = Session(root)
    found = [attempt for event in events for attempt in session.add(event)]
    return [*found, *(session.end() if is_over else ())]


class Session:
    """Follows the events of one session. What it keeps is bounded by the failures that are open, not by the session's length."""

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._open: dict[str, _Open] = {}
        self._seen: set[bytes] = set()
        self._runs = Runs()
        self._bases: dict[str, str] = {}
        self._place = 0

    def add(self, event: Event) -> list[Attempt]:
        """Takes the next event and returns the attempts that ended with it."""
        if event.kind != TOOL or not self._is_new(event.call):
            return []
        place, self._place = self._place, self._place + 1
        where = event.cwd or self._root
        if where not in self._bases:
            self._bases = {where: repository_of(where)}
        judged = shell.settled(event.command, event.ok, where, self._bases[where]) if event.tool == SHELL else []
        self._runs.add(event, judged)
        if event.tool == EDIT and event.ok is not False:
            _changed(self._open, _edit(event, place, self._root))
        elif event.tool == SHELL and event.ok is True:
            return self._passed(judged, event, place)
        for command in judged:
            if command.key not in self._open:
                return self._failed(command, event, place)
            self._open[command.key].failed_again(error_of(event.output))
        return []

    def end(self) -> list[Attempt]:
        """Returns the failures that never passed."""
        return [_attempt(one, passed=False) for one in self._open.values()]

    @property
    def ran(self) -> list[Ran]:
        """Result of each command, of the last commands only."""
        return self._runs.ran

    def _is_new(self, call: str) -> bool:
        digest = hashlib.blake2b(call.encode("utf-8", "replace"), digest_size=8).digest()
        if call and digest in self._seen:
            return False
        self._seen.add(digest)
        return True

    def _failed(self, command: shell.Command, event: Event, place: int) -> list[Attempt]:
        self._open[command.key] = _Open(command, event._replace(output="", command=""), place, error_of(event.output))
        if len(self._open) <= MOST_OPEN:
            return []
        return [_attempt(self._open.pop(next(iter(self._open))), passed=False)]

    def _passed(self, passing: list[shell.Command], event: Event, place: int) -> list[Attempt]:
        closed: dict[str, shell.Command] = {}
        for key, one in self._open.items():
            same = (command for command in passing if command.covers(one.command))
            elsewhere = (command for command in passing if command.places(one.command))
            if (by := next(chain(same, elsewhere), None)) is not None:
                closed[key] = by
        if not closed:
            where = event.cwd or self._root
            _command_run(self._open, event, place, where, self._bases[where])
        ended = [(self._open.pop(key), by) for key, by in closed.items()]
        return [_attempt(one, passed=place - one.place <= MOST_CALLS, by=by) for one, by in ended]


def _attempt(one: _Open, *, passed: bool, by: shell.Command | None = None) -> Attempt:
    event, strategy = one.event, one.tested if by is None else _repair(one, by)
    return Attempt(
        event.host, event.session, event.call or f"{event.at}", event.at, one.command.shown, one.command.kind, one.error, strategy, passed,
        one.failures, tuple(each for each in dict.fromkeys(one.tried) if each != strategy or not passed),
    )  # fmt: skip


def _repair(one: _Open, by: shell.Command) -> str:
    ways = by.ways_beside(one.command)
    if by.places(one.command):
        return _joined((*(change.summary for change in one.changes), *ways))
    return one.strategy or _joined(ways)


def _joined(parts: Iterable[str]) -> str:
    strategy = "; ".join(dict.fromkeys(parts))
    return strategy if len(strategy) <= _STRATEGY else f"{strategy[: _STRATEGY - 1]}…"


def _edit(event: Event, place: int, root: str) -> _Change:
    path = event.path
    for folder in (event.cwd, root):
        if folder and path.startswith(folder.rstrip("/") + "/"):
            path = path[len(folder.rstrip("/")) + 1 :]
            break
    old, new = _differing(event.old, event.new)
    what = f": {old} -> {new}" if old and new else f": added {new}" if new else f": removed {old}" if old else ""
    return _Change(place, path, event.old, event.new, f"edit {path or 'a file'}{what}")


def _differing(old: str, new: str) -> tuple[str, str]:
    """Returns the first lines in which two texts differ, short enough to be read."""
    before, after = (text.split("\n") for text in (old, new))
    gone = [line.strip() for line in before if line.strip() and line not in after]
    come = [line.strip() for line in after if line.strip() and line not in before]
    return tuple(text if len(text) <= 100 else f"{text[:99]}…" for text in (" ".join(gone[:2]), " ".join(come[:2])))  # type: ignore[return-value] # two texts


def _changed(open_ones: dict[str, _Open], change: _Change) -> None:
    """Adds an edit to all that is open. One that takes an earlier one back removes it instead."""
    for one in open_ones.values():
        undone = next(
            (made for made in one.changes if made.path == change.path and (made.old, made.new) == (change.new, change.old)), None
        )
        if undone is not None and change.path:
            one.changes.remove(undone)
        else:
            one.add(change)


def _command_run(open_ones: dict[str, _Open], event: Event, place: int, root: str, base: str) -> None:
    """Adds a successful command that changes something; what `git checkout` and the like take back is removed."""
    folder = shell.place_of(event.command, root, base)
    for _, words in shell.read(event.command, root)[0]:
        bare = shell.stripped(words)
        if not bare:
            continue
        if bare[0] == "git" and bare[1:2] and bare[1] in ("checkout", "restore", "stash", "reset"):
            paths = [word for word in bare[2:] if not word.startswith("-")]
            is_all = bare[1] == "stash" or "--hard" in bare or "." in paths
            for one in open_ones.values():
                one.changes = [] if is_all else [made for made in one.changes if made.path not in paths]
        elif bare[0] not in ("cd", "git") and _may_mend(bare):
            line = " ".join(words)
            line = f"run {line if len(line) <= 160 else line[:159] + '…'}{f' in {folder}' if folder else ''}"
            for one in open_ones.values():
                if one.command.kind == shell.LINT or not _rewrites(bare):  # a formatter mends no test
                    one.add(_Change(place, "", "", "", line))


def _may_mend(words: list[str]) -> bool:
    changes = shell.kind_of(words) in (shell.INSTALL, shell.CHANGE, shell.RUN) or _rewrites(words)
    return changes and not options.only_asks(words)


def _rewrites(words: list[str]) -> bool:
    return shell.kind_of(words) == shell.LINT and options.rewrites(words)
