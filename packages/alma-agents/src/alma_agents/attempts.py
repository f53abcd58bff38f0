"""Attempts: what a session teaches. A failure followed by the same command passing is one, what was changed between is its strategy."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from alma_agents import shell
from alma_agents.events import EDIT, SHELL, TOOL, Event
from alma_agents.signatures import error_of

MOST_CALLS = 60
"""Calls between a failure and its pass. What is further apart is not taken as its repair."""

_STRATEGY = 900


class Attempt(NamedTuple):
    """One repair, or one failure that stayed. `passed` is False where it ended without a pass: unverified."""

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
    told: str


class _Open:
    """A failure whose command has not passed yet."""

    def __init__(self, command: shell.Command, event: Event, place: int) -> None:
        self.command, self.event, self.place = command, event, place
        self.error = error_of(event.output)
        self.failures = 1
        self.changes: list[_Change] = []


def attempts(events: Iterable[Event], *, root: str = "", is_over: bool = True) -> list[Attempt]:
    """Returns the attempts in the events of one session, in the order in which they ended. Calls that are there twice count once.

    Unless the session `is_over`, failures that may still pass are left out.
    """
    return list(_attempts(_once(events), root, is_over))


def _once(events: Iterable[Event]) -> Iterator[Event]:
    seen: set[str] = set()
    for event in events:
        if event.kind != TOOL:
            continue
        if event.call:
            if event.call in seen:
                continue
            seen.add(event.call)
        yield event


def _attempts(events: Iterator[Event], root: str, is_over: bool) -> Iterator[Attempt]:
    open_ones: dict[str, _Open] = {}
    for place, event in enumerate(events):
        if event.tool == EDIT and event.ok is not False:
            _changed(open_ones, _edit(event, place, root))
        elif event.tool == SHELL and event.ok is True:
            passing = shell.passed(event.command, event.cwd or root)
            closed = [key for key, one in open_ones.items() if any(command.covers(one.command) for command in passing)]
            for key in closed:
                one = open_ones.pop(key)
                if place - one.place <= MOST_CALLS:
                    yield _attempt(one, passed=True)
                else:
                    yield _attempt(one, passed=False)
            if not closed:
                _command_run(open_ones, event, place, root)
        elif event.tool == SHELL and event.ok is False:
            command = shell.judged(event.command, False, event.cwd or root)
            if command is None:
                continue
            if command.key in open_ones:
                open_ones[command.key].failures += 1
            else:
                open_ones[command.key] = _Open(command, event, place)
    if is_over:
        for one in open_ones.values():
            yield _attempt(one, passed=False)


def _attempt(one: _Open, *, passed: bool) -> Attempt:
    event = one.event
    told = list(dict.fromkeys(change.told for change in one.changes))
    strategy = "; ".join(told)
    return Attempt(
        event.host, event.session, event.call or f"{event.at}", event.at, one.command.shown, one.command.kind, one.error,
        strategy if len(strategy) <= _STRATEGY else f"{strategy[: _STRATEGY - 1]}…", passed, one.failures,
    )  # fmt: skip


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
            one.changes.append(change)


def _command_run(open_ones: dict[str, _Open], event: Event, place: int, root: str) -> None:
    """Adds a successful command that changes something; what `git checkout` and the like take back is removed."""
    for _, words in shell.read(event.command, event.cwd or root)[0]:
        bare = shell.stripped(words)
        if not bare:
            continue
        if bare[0] == "git" and bare[1:2] and bare[1] in ("checkout", "restore", "stash", "reset"):
            paths = [word for word in bare[2:] if not word.startswith("-")]
            is_all = bare[1] == "stash" or "--hard" in bare or "." in paths
            for one in open_ones.values():
                one.changes = [] if is_all else [made for made in one.changes if made.path not in paths]
        elif bare[0] not in ("cd", "git") and shell.kind_of(bare) in (shell.INSTALL, shell.CHANGE, shell.RUN):
            told = " ".join(words)
            for one in open_ones.values():
                one.changes.append(_Change(place, "", "", "", f"run {told if len(told) <= 160 else told[:159] + '…'}"))
