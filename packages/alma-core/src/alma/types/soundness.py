"""Checks that evidence is plausible. Evidence from a file or a store may hold anything."""

from collections.abc import Iterator, Sequence

from alma.evidence import Tally
from alma.text import fault_in, one_line
from alma.types.evidence import NO_STRATEGY, Evidence, Happening, evidence_id, text_key
from alma.types.kinds import Standing

MOST_TRIALS = 1e9
MOST_REASONS = 8
SHOWN_CHARS = 2_000
"""Longest strategy text in a rule."""

REASON_CHARS = 400
MOST_RUNS = 8
EVENT_CHARS = 64

_SLACK = 1e-6


def fault_in_evidence(evidence: Evidence) -> str | None:
    """Returns why learning could not have produced this evidence, or `None`."""
    return next(_faults(evidence), None)


def _faults(seen: Evidence) -> Iterator[str]:
    if not _is_tally(seen.lifetime):
        yield f"its counts, {seen.lifetime.successes} of {seen.lifetime.trials}, are none"
    if not _is_tally(seen.operative) or seen.operative.trials > seen.lifetime.trials + _SLACK:
        yield f"the counts that decide, {seen.operative.successes} of {seen.operative.trials}, are none"
    if seen.strategy_hash != (text_key(seen.strategy) if seen.strategy else NO_STRATEGY):
        yield "its hash is not that of its strategy"
    if seen.id != evidence_id(seen.owner, seen.task_class, seen.strategy_hash):
        yield "its id is not that of its agent, class and strategy"
    if not seen.owner or not seen.task_class:
        yield "it is of no agent or of no class"
    for rule, status in ((seen.heuristic, seen.heuristic_status), (seen.anti_pattern, seen.anti_pattern_status)):
        if status is None and rule is not None:
            yield "it names a rule without saying how far that is believed"
        if status is not None and status not in set(Standing):
            yield f"{status!r} is no standing of a rule"
    if not _are_happenings(seen.reasons, most=MOST_REASONS, chars=REASON_CHARS):
        yield "its reasons are none"
    if not _are_happenings(seen.recent, most=MOST_RUNS, chars=EVENT_CHARS):
        yield "its last events are none"


def _is_tally(counts: Tally) -> bool:
    return 0 <= counts.successes <= counts.trials + _SLACK and counts.trials <= MOST_TRIALS


def _are_happenings(found: Sequence[Happening], *, most: int, chars: int) -> bool:
    return len(found) <= most and all(
        count >= 1 and len(what) <= chars and fault_in(what) is None and one_line(what) == what.strip()
        for what, count, _ in found
    )
