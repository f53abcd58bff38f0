"""What the evidence on a strategy amounts to: a heuristic, an anti-pattern, or neither yet."""

from dataclasses import dataclass

from alma.types.kinds import Standing as Standing

CANDIDATE_CONFIDENCE = 0.8


@dataclass(frozen=True, slots=True)
class Needed:
    """Numbers of successes that make a heuristic, and of failures that make an anti-pattern, of one agent at least."""

    successes: int = 3
    failures: int = 2


def changed(before: str | None, now: Standing | None) -> Standing | None:
    """The standing to be kept: a rule that no longer holds is demoted, one that never held is none."""
    if now is not None:
        return now
    return Standing.DEMOTED if before is not None else None
