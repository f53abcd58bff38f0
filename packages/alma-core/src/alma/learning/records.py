"""A strategy's record in words and figures, for a person."""

from alma import evidence as arithmetic
from alma.evidence import Interval, Tally
from alma.learning.rules import SHOWN_CHARS, why_bad
from alma.learning.standing import Standing
from alma.text import one_line, shortened
from alma.types.evidence import Evidence
from alma.types.identity import from_micros
from alma.types.strategies import Judgement, Range, StrategyRecord
from alma.types.tags import defused

_WORKS = {Standing.PROVEN: Judgement.WORKS, Standing.CANDIDATE: Judgement.SEEMS_TO_WORK}
_FAILS = {Standing.PROVEN: Judgement.FAILS, Standing.CANDIDATE: Judgement.SEEMS_TO_FAIL}
_NAME_CHARS = 120


def record_of(seen: Evidence, whole: Evidence, *, task_type: str | None, reader: str, similarity: float | None) -> StrategyRecord:
    """The record of a strategy in its class."""
    others = Tally(
        max(whole.lifetime.successes - seen.lifetime.successes, 0.0), max(whole.lifetime.trials - seen.lifetime.trials, 0.0)
    )
    difference, around = arithmetic.lift(seen.lifetime, others)
    verdict = verdict_of(seen)
    return StrategyRecord(
        strategy=shortened(seen.strategy, SHOWN_CHARS),
        task=whole.task or "",
        task_type=task_type,
        agent=seen.agent,
        trials=seen.lifetime.trials,
        successes=seen.lifetime.successes,
        unverified=seen.unverified,
        rate=seen.lifetime.rate,
        interval=ranged(seen.lifetime.interval()),
        recent_rate=seen.operative.rate,
        lift=difference,
        lift_interval=ranged(around),
        others=others.trials,
        last_used=from_micros(seen.observed_at),
        verdict=verdict,
        told=_told(seen, verdict),
        heuristic_id=seen.heuristic,
        anti_pattern_id=seen.anti_pattern,
        why_bad=why_bad(seen) if verdict in _FAILS.values() else None,
        shared_from=None if seen.agent == reader else seen.agent,
        similarity=similarity,
    )


def verdict_of(seen: Evidence) -> Judgement:
    """What the evidence amounts to."""
    if seen.heuristic_status in _WORKS:
        return _WORKS[Standing(seen.heuristic_status)]
    if seen.anti_pattern_status in _FAILS:
        return _FAILS[Standing(seen.anti_pattern_status)]
    return Judgement.UNDECIDED if seen.lifetime.trials else Judgement.UNKNOWN


def ranged(interval: Interval) -> Range:
    """An interval as it is told."""
    return Range(lower=interval.lower, upper=interval.upper)


def counted(counts: Tally) -> str:
    """Counts in words: "8 of 10"."""
    return f"{counts.successes:g} of {counts.trials:g}"


def _told(seen: Evidence, verdict: Judgement) -> str:
    name = defused(shortened(one_line(seen.strategy), _NAME_CHARS))
    unverified = f", {seen.unverified} not judged" if seen.unverified else ""
    if not seen.lifetime.trials:
        return f"{name}: {verdict}{unverified}"
    around = seen.lifetime.interval()
    return f"{name}: {verdict}, {counted(seen.lifetime)} ({around.lower:.0%} to {around.upper:.0%}){unverified}"
