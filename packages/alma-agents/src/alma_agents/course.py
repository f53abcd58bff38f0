"""Decides whether it is proven that a command fails: from how it ended in earlier sessions, and how such commands went on in this project. Pure.

Three things must hold. The command failed in the same way whenever a session began with it, at least twice, and nothing that lasts has repaired
it. That is not chance: either its error is of a sort that no chance brings about, or the same failures in a row would be too rare for a command
that fails as often as this one did before. And it lasts: of all that would have been said so in this project, nearly all came true.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from alma_agents.runs import CHANCE, KEPT, PASSING, RAN, Ran
from alma_agents.signatures import concept_of, masked, nearness, words_of

LEAST_SESSIONS = 2
LEAST_SHARE = 0.95
"""Share of what is said that should come true."""

MOST_BY_CHANCE = 1 / 32
"""Probability, at most, that a command which fails at random fails so often in a row."""

OF_NO_CHANCE = frozenset(("absent:script", "absent:command", "absent:target", "absent:module", "unexpected:"))
"""Concepts of errors (`concept_of`) that are the same at every run: a script that is missing, an option that is not known."""

WRONG, UNREADY, NEVER_PASSED, HAS_PASSED = "wrong", "unready", "never passed", "has passed"
"""Sorts of commands that fail: a call that is wrong, of which no pass is known; one that passes only once something was started in the session;
others of which no pass is known; and what broke."""

BEFORE = {WRONG: (24, 25), UNREADY: (24, 25), NEVER_PASSED: (12, 13), HAS_PASSED: (8, 9)}
"""Prior counts: warnings that came true, and warnings. The last two sorts have to show first that they last in this project, seven times and eleven
times, for what broke is missed and mended."""

LEAST_REPAIRED = 2
"""Sessions in which a command passed once something was started, before it is said to need that."""

DAY = 86_400.0
LEAST_SECONDS, SHARE_OF_SPAN = 2 * DAY, 0.5
LEAST_SECONDS_OF_WRONG = 14 * DAY
"""It is said this long after the last failure, or for this share of the time for which the command has failed, whichever is longer: what is broken
is mended some day, and often elsewhere."""

_Z = 1.2816
_SAME = 0.8
_UNKNOWN = 0.5
"""Failures of a command of which no pass is known: it fails by chance at most so often."""


class Prediction(NamedTuple):
    """The warning that would have been given before a run, and whether it came true."""

    sort: str
    failed: bool


@dataclass(slots=True)
class Course:
    """The runs of a command so far. `sessions` and `tries` are those of the similar failures at their end, which begin at `since`.

    In `repaired` of these sessions the command passed later, after a change that does not last. `by_chance` counts failures that ended by themselves.
    """

    sessions: int = 0
    tries: int = 0
    since: float = 0.0
    last: float = 0.0
    error: str = ""
    passes: int = 0
    by_chance: int = 0
    repaired: int = 0
    _words: dict[str, float] = field(default_factory=dict)

    @property
    def sort(self) -> str:
        """Sort of the command."""
        if self.passes:
            return HAS_PASSED
        return WRONG if self._is_steady() else UNREADY if self.repaired >= LEAST_REPAIRED else NEVER_PASSED

    @property
    def until(self) -> float:
        """Time until which it is said that the command fails; 0 for none."""
        if self.sessions < LEAST_SESSIONS or not self.error or self.last <= 0 or not self._is_no_chance():
            return 0.0
        least = LEAST_SECONDS_OF_WRONG if self.sort == WRONG else LEAST_SECONDS
        return self.last + max(least, SHARE_OF_SPAN * (self.last - self.since))

    def predicts(self, ran: Ran) -> Prediction | None:
        """Returns what is said before a run that a session begins with, and whether it comes true."""
        return Prediction(self.sort, not ran.ok) if not ran.after and ran.at <= self.until else None

    def add(self, ran: Ran) -> None:
        """Takes the next session's run."""
        if ran.ok:
            self._passed(ran)
            return
        if self.sessions and self._is_alike(ran.error):
            self.sessions += 1
            self.tries += ran.tries
            self.last, self.error = ran.at, ran.error
        elif not ran.after or concept_of(ran.error) in OF_NO_CHANCE:
            self._begin(ran)
        self.repaired += ran.mended in (PASSING, RAN)
        if ran.mended in (KEPT, CHANCE):
            self.by_chance += ran.tries if ran.mended == CHANCE else 0
            self.passes += 1
            self._end()

    def _passed(self, ran: Ran) -> None:
        if ran.after == PASSING and self.sessions:  # what was started first may be all that it needs
            return
        self.passes += 1
        self.by_chance += ran.mended == CHANCE
        if not ran.after:  # nothing that is known has mended it
            self.by_chance += self.tries
        self._end()

    def _begin(self, ran: Ran) -> None:
        self.by_chance += self.tries
        self.repaired = 0
        self.sessions, self.tries, self.since, self.last, self.error = 1, ran.tries, ran.at, ran.at, ran.error
        self._words = words_of(ran.error)

    def _end(self) -> None:
        self.sessions = self.tries = 0

    def _is_alike(self, error: str) -> bool:
        return masked(error) == masked(self.error) or nearness(self._words, words_of(error)) >= _SAME

    def _is_steady(self) -> bool:
        return concept_of(self.error) in OF_NO_CHANCE

    def _is_no_chance(self) -> bool:
        if self._is_steady() and not self.by_chance:
            return True
        runs = self.by_chance + self.passes
        rate = upper_rate(self.by_chance, runs) if self.passes else _UNKNOWN
        return (runs + 1) * rate**self.tries <= MOST_BY_CHANCE  # the row may have begun after each of them


def followed(runs: Iterable[Ran]) -> tuple[Course, list[Prediction]]:
    """Returns the course of a command from its runs, oldest first, and what would have been said on the way."""
    course, predictions = Course(), []
    for ran in runs:
        if (said := course.predicts(ran)) is not None:
            predictions.append(said)
        course.add(ran)
    return course, predictions


def lasting(predictions: Iterable[Prediction]) -> frozenset[str]:
    """Returns the sorts of commands of which nearly all that would have been said has come true in this project."""
    seen = {sort: list(counts) for sort, counts in BEFORE.items()}
    for each in predictions:
        seen[each.sort][0] += each.failed
        seen[each.sort][1] += 1
    return frozenset(sort for sort, (true, said) in seen.items() if true / said >= LEAST_SHARE)


def upper_rate(times: int, of: int) -> float:
    """Returns the upper bound of a rate at 90 %, one-sided, by Wilson's interval (Wilson 1927)."""
    square = _Z * _Z / of
    rate = times / of
    return float((rate + square / 2 + _Z * sqrt(rate * (1 - rate) / of + square / (4 * of))) / (1 + square))
