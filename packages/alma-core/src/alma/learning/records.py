"""A strategy's record in words and figures, for a person."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from alma.evidence import Interval, Tally
from alma.learning.consulting import Consulted
from alma.learning.experience import Advice
from alma.learning.levels import EVEN, Level
from alma.learning.rules import SHOWN_CHARS, why_bad
from alma.learning.standing import Standing
from alma.learning.standings import Standings
from alma.observing import merged_reasons
from alma.text import one_line, shortened
from alma.types import sentences
from alma.types.evidence import Evidence, type_of
from alma.types.identity import from_micros
from alma.types.strategies import Judgement, Range, StrategyRecord
from alma.types.tags import defused

_WORKS = {Standing.PROVEN: Judgement.WORKS, Standing.LIKELY: Judgement.SEEMS_TO_WORK, Standing.CANDIDATE: Judgement.SEEMS_TO_WORK}
_FAILS = {Standing.PROVEN: Judgement.FAILS, Standing.LIKELY: Judgement.SEEMS_TO_FAIL, Standing.CANDIDATE: Judgement.SEEMS_TO_FAIL}
MOSTLY_OTHERS = 1.5
"""From this number of pooled trials for each that is counted on, those on less similar tasks are said."""

_NAME_CHARS = 120
_BEST_OF_BAD = "better than the others, but it fails more often than not"
_WORST_OF_GOOD = "worse than the others, but it succeeds more often than not"


def verdict_of(works: Level | None, fails: Level | None, *, trials: float, lately: float | None = None) -> Judgement:
    """Returns what the evidence amounts to. `lately` is the rate of now where that has changed: it may speak against what all trials say."""
    if works is not None and (lately is None or lately >= EVEN):
        return _WORKS[works.standing]
    if fails is not None and (lately is None or lately <= EVEN):
        return _FAILS[fails.standing]
    return Judgement.UNDECIDED if trials else Judgement.UNKNOWN


def relative_only(verdict: Judgement, rate: float, *, others: float) -> str | None:
    """What a verdict needs beside it where the rate says otherwise: a rule compares with the `others` trials, which need not be any good."""
    if verdict in _WORKS.values() and rate < EVEN and others:
        return _BEST_OF_BAD
    return _WORST_OF_GOOD if verdict in _FAILS.values() and rate > EVEN and others else None


@dataclass(frozen=True, slots=True)
class RecordMaker:
    """Makes the records of rows of advice, for a reader."""

    known: Consulted
    standings: Standings
    reader: str
    is_of_steps: bool = False

    def record(self, row: int) -> StrategyRecord:
        """The record of a row."""
        advice, entries = self.known.advice, [entry.evidence for entry, _ in self.known.entries(row)]
        _, works, fails = self.standings.of(row)
        counts = counts_of(self.known, row)
        verdict = verdict_of(works, fails, trials=counts.trials, lately=rate_lately(advice, row))
        nearest = self._nearest(row)
        level = works or fails
        owners = {seen.agent for seen in entries} or ({nearest.agent} if nearest else {self.reader})
        owner = self.reader if self.reader in owners else min(owners)
        text = shortened(self.known.texts[row], SHOWN_CHARS)
        tasks = int(advice.whole_tasks[row])
        return StrategyRecord(
            strategy=text,
            task=(nearest.task or "") if nearest else self.known.question.task,
            task_type=type_of(nearest.task_class) if nearest else None,
            agent=owner,
            trials=counts.trials,
            successes=counts.successes,
            unverified=sum(seen.unverified for seen in entries),
            tasks=tasks,
            rate=counts.rate,
            expected=float(advice.expected[row]),
            interval=Range(lower=float(advice.lower[row]), upper=float(advice.upper[row])),
            recent_rate=float(np.clip(advice.recent[row], 0.0, 1.0)),
            recent_interval=Range(lower=float(advice.recent_lower[row]), upper=float(advice.recent_upper[row])),
            lift=float(advice.lift[row]),
            lift_interval=Range(lower=float(advice.lift_lower[row]), upper=float(advice.lift_upper[row])),
            others=round(float(advice.others[row]), 6),
            effective_tasks=float(advice.effective_tasks[row]),
            sure=level.sure if level and level.standing is not Standing.CANDIDATE else None,
            last_used=from_micros(max((seen.observed_at for seen in entries), default=nearest.observed_at if nearest else 0)),
            verdict=verdict,
            summary=_summary(text, verdict, counts, advice, row, tasks, is_of_steps=self.is_of_steps),
            heuristic_id=_held((seen.heuristic, seen.heuristic_status) for seen in entries),
            anti_pattern_id=_held((seen.anti_pattern, seen.anti_pattern_status) for seen in entries),
            why_bad=why_bad(_with_reasons(entries), is_of_users=_is_of_users(entries)) if fails and entries else None,
            shared_from=None if owner == self.reader else owner,
            similarity=float(advice.nearest[row]) if self.known.question.task else None,
            is_of_steps=self.is_of_steps,
        )

    def _nearest(self, row: int) -> Evidence | None:
        """The evidence on the nearest task that the strategy, or one that is the same, was tried on; of equal ones the newest."""
        entries = self.known.entries(row, of_near_tasks=False)
        return max(entries, key=lambda found: (found[1], found[0].evidence.observed_at))[0].evidence if entries else None


def _held(rules: Iterable[tuple[str | None, str | None]]) -> str | None:
    """The id of the first rule, of rules with their standings, that is not demoted: `get` finds no other."""
    return next((rule for rule, status in rules if rule and status != Standing.DEMOTED), None)


def counts_of(known: Consulted, row: int) -> Tally:
    """The counts that are shown: plain ones of near tasks, pooled ones where no task is near."""
    advice = known.advice
    if advice.whole_trials[row] > 0:
        return Tally(float(advice.whole_successes[row]), float(advice.whole_trials[row]))
    return _pooled(advice, row)


def _pooled(advice: Advice, row: int) -> Tally:
    trials = round(float(advice.trials[row]), 2)
    return Tally(min(round(float(advice.successes[row]), 2), trials), trials)


def ranged(interval: Interval) -> Range:
    """An interval as it is shown."""
    return Range(lower=interval.lower, upper=interval.upper)


def counted(counts: Tally) -> str:
    """Counts in words: "8 of 10"."""
    return f"{sentences.counted(counts.successes)} of {sentences.counted(counts.trials)}"


def has_changed(advice: Advice, row: int) -> bool:
    """Returns True if the rate of a row is another than it was."""
    return bool(advice.change[row] > 0)


def rate_lately(advice: Advice, row: int) -> float | None:
    """The rate of now of a row, where that has changed."""
    return float(np.clip(advice.recent[row], 0.0, 1.0)) if has_changed(advice, row) else None


def bounds(lower: float, upper: float, *, is_changed: bool) -> str:
    """The bounds of a rate in words; of one that `is_changed` they are those of now."""
    return f"{'changed, lately ' if is_changed else ''}{lower:.0%} to {upper:.0%}"


def _with_reasons(entries: list[Evidence]) -> Evidence:
    return replace(entries[0], reasons=merged_reasons(seen.reasons for seen in entries))


def _is_of_users(entries: list[Evidence]) -> bool:
    """Returns True if several users failed: their errors may be held back."""
    return len({seen.user_id for seen in entries if seen.user_id and seen.lifetime.failures}) > 1


def _summary(text: str, verdict: Judgement, counts: Tally, advice: Advice, row: int, tasks: int, *, is_of_steps: bool) -> str:
    name = defused(shortened(one_line(text), _NAME_CHARS)) + (" (as a step)" if is_of_steps else "")
    if not counts.trials:
        return f"{name}: {verdict}"
    around = bounds(float(advice.lower[row]), float(advice.upper[row]), is_changed=has_changed(advice, row))
    if not tasks:  # beside counts that look clear, "undecided" alone would read as a contradiction
        return f"{name}: {verdict}, tried only on less similar tasks: {counted(counts)} by weight ({around})"
    on = f" on {tasks} tasks" if tasks > 1 else ""
    if advice.trials[row] > MOSTLY_OTHERS * counts.trials:  # bounds rest on all of them
        on = f"{on}, with less similar tasks {counted(_pooled(advice, row))} by weight"
    beside = relative_only(verdict, counts.rate, others=float(advice.others[row]))
    return f"{name}: {verdict}, {counted(counts)}{on} ({around}){f'; {beside}' if beside else ''}"
