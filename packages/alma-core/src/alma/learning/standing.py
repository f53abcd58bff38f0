"""What the evidence on a strategy amounts to: a heuristic, an anti-pattern, or neither yet."""

from collections.abc import Iterable
from dataclasses import dataclass

from alma.evidence import Interval, Tally
from alma.types.kinds import Standing as Standing

CANDIDATE_CONFIDENCE = 0.8
PROVEN_CONFIDENCE = 0.95
EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Needed:
    """So many successes make a heuristic, so many failures an anti-pattern, of one agent at least."""

    successes: int = 3
    failures: int = 2


def as_heuristic(lifetime: Tally, operative: Tally, rest: float, needed: Needed) -> Standing | None:
    """Whether a strategy works: `None`, or how far that is believed.

    There are enough successes, and at 80 % (one-sided) the operative rate is above both a half and the rest, or above the rest alone where that
    is below a half, and may well be no lower than the rest. It is proven when that holds of the rest at 95 %.
    """
    if lifetime.successes < needed.successes:
        return None
    if operative.lower(CANDIDATE_CONFIDENCE) <= min(EVEN, rest) or operative.upper(CANDIDATE_CONFIDENCE) < rest:
        return None
    return Standing.PROVEN if operative.lower(PROVEN_CONFIDENCE) > rest else Standing.CANDIDATE


def as_anti_pattern(lifetime: Tally, operative: Tally, rest: float, needed: Needed) -> Standing | None:
    """Whether a strategy fails: the mirror of `as_heuristic`. No strategy is both."""
    if lifetime.failures < needed.failures:
        return None
    if operative.upper(CANDIDATE_CONFIDENCE) >= max(EVEN, rest) or operative.lower(CANDIDATE_CONFIDENCE) > rest:
        return None
    return Standing.PROVEN if operative.upper(PROVEN_CONFIDENCE) < rest else Standing.CANDIDATE


def steady(operative: Tally, rest: float, rules: Iterable[Standing | None]) -> Interval:
    """The open interval around the rest in which the standing stays what it is, as long as the strategy itself is not tried again."""
    turns = [EVEN, operative.lower(CANDIDATE_CONFIDENCE), operative.upper(CANDIDATE_CONFIDENCE)]
    if any(rule is not None for rule in rules):
        turns += [operative.lower(PROVEN_CONFIDENCE), operative.upper(PROVEN_CONFIDENCE)]
    return Interval(
        max((turn for turn in turns if turn <= rest), default=-1.0), min((turn for turn in turns if turn > rest), default=2.0)
    )


def changed(before: str | None, now: Standing | None) -> Standing | None:
    """The standing to be kept: a rule that no longer holds is demoted, one that never held is none."""
    if now is not None:
        return now
    return Standing.DEMOTED if before is not None else None
