"""Results of the commands of one session, on which a warning may rest. Imports the standard library only."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from alma_agents import options, shell
from alma_agents.events import EDIT, SHELL, Event
from alma_agents.signatures import error_of

MOST_COMMANDS = 200
"""Commands of a session that are kept: the last ones."""

KEPT, PASSING, RAN, CHANCE = "kept", "passing", "ran", "chance"
"""Kinds of what was done between a failure and a pass, or before a first run: something that lasts beyond the session (an edit, an installation),
something that may not (a server was started), something that was only run, or nothing at all."""

_NOT_LASTING = frozenset(
    ("docker", "podman", "docker-compose", "systemctl", "service", "export", "source", ".", "pkill", "redis-cli")
)
_GIT_ASIDE = frozenset(("add", "commit", "push", "fetch", "tag", "config"))
_WRITERS = frozenset(("cat", "echo", "printf", "tee"))
_WRITES = re.compile(r"(?<![\d&])>>?\s*(?!&|/dev/null)[^\s>]|\btee\b")
_LONGEST = 20_000
_STRENGTH = ("", RAN, PASSING, KEPT)


def change_of(event: Event) -> str:
    """Returns what a call may have changed, "" for nothing."""
    if event.tool == EDIT:
        return KEPT if event.ok is not False else ""
    if event.tool != SHELL:
        return ""
    writes = bool(_WRITES.search(event.command[:_LONGEST]))
    return max((_change(words, writes=writes) for words in shell.commands_of(event.command)), key=_STRENGTH.index, default="")


def _change(words: list[str], *, writes: bool) -> str:
    kind = shell.kind_of(words)
    if kind == shell.CHANGE and words[0] == "git":
        return "" if words[1:2] and words[1] in _GIT_ASIDE else KEPT
    if kind == shell.CHANGE:
        return PASSING if words[0] in _NOT_LASTING else KEPT
    if kind == shell.INSTALL or (writes and words[0] in _WRITERS):
        return KEPT
    return RAN if kind in (shell.RUN, shell.BUILD) and not options.only_asks(words) else ""


class Ran(NamedTuple):
    """Result of one command in a session: when it first ran, and what followed.

    `after` says what had been changed in the session before its first run, scripts that were run aside. `tries` is how often it then failed
    before it passed, with nothing that lasts changed between, and `mended` what was changed before it passed, "" where it did not. A
    command that passed first and then failed with nothing changed between is `mended` by `CHANCE`, too.
    """

    command: shell.Command
    ok: bool
    after: str
    call: str
    at: float
    error: str = ""
    tries: int = 0
    mended: str = ""


class Runs:
    """Follows the commands of a session. Bounded."""

    def __init__(self) -> None:
        self._ran: dict[str, Ran] = {}
        self._changed: dict[str, str] = {}
        self._before = ""

    @property
    def ran(self) -> list[Ran]:
        """Result of each command, in the order of their first runs."""
        return list(self._ran.values())

    def add(self, event: Event, judged: Sequence[shell.Command]) -> None:
        """Takes the next call, with the commands that its status judges."""
        for command in judged:
            if event.ok:
                self._passed(command, event)
            else:
                self._failed(command, event)
        change = change_of(event)
        if change:
            self._before = self._before if change == RAN else _stronger(self._before, change)
            own = {command.call for command in judged}
            self._changed = {key: was if key in own else _stronger(was, change) for key, was in self._changed.items()}

    def _failed(self, command: shell.Command, event: Event) -> None:
        ran = self._ran.get(command.call)
        if ran is None:
            self._add(Ran(command, False, self._before, event.call, event.at, error_of(event.output), 1))
        elif ran.ok and not self._changed[command.call]:
            self._ran[command.call] = ran._replace(mended=CHANCE)
        elif not ran.ok and not ran.mended and self._changed[command.call] != KEPT:
            self._ran[command.call] = ran._replace(tries=ran.tries + 1, at=event.at)

    def _passed(self, command: shell.Command, event: Event) -> None:
        for key, ran in self._ran.items():
            if not ran.ok and not ran.mended and command.by == ran.command.by and command.covers(ran.command):
                self._ran[key] = ran._replace(mended=self._changed[key] or CHANCE)
        if command.call not in self._ran:
            self._add(Ran(command, True, self._before, event.call, event.at))

    def _add(self, ran: Ran) -> None:
        self._ran[ran.command.call] = ran
        self._changed[ran.command.call] = ""
        if len(self._ran) > MOST_COMMANDS:
            first = next(iter(self._ran))
            del self._ran[first], self._changed[first]


def _stronger(one: str, other: str) -> str:
    return max(one, other, key=_STRENGTH.index)
