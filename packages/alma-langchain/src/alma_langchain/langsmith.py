"""Turns feedback from LangSmith into verdicts: `settle_from_feedback(alma, feedback)`. Needs no LangSmith client."""

from collections.abc import Mapping
from typing import Any

from alma import ALMA, MemoryNotFoundError, ValidationError
from alma.text import quoted
from alma.types import EpisodeRecord, Verdict
from alma.types.kinds import VerdictSource

GOOD = 0.5
"""A score of at least this is a success."""


def settle_from_feedback(alma: ALMA, feedback: Any) -> list[EpisodeRecord]:
    """Settles the episodes of the run that a feedback is about, and returns them.

    `feedback` is LangSmith's `Feedback`, or a mapping with the same names, as a webhook brings it. The episodes are found by `trace_id`,
    because a verdict on any part of a trace is one on the agent's run; else by `run_id`. A score of 0.5 or more, or `True`, is a success;
    the comment is the reason; feedback from the app is a person's, other feedback an evaluator's. `ValidationError` without a score,
    `MemoryNotFoundError` if there is no episode of that run.
    """
    ids = [str(found) for name in ("trace_id", "run_id") if (found := _of(feedback, name)) is not None]
    run_id = next((each for each in ids if alma.run_episodes(each)), None)
    if run_id is None:
        raise MemoryNotFoundError(f"there is no episode of the run {' or '.join(ids) or None}")
    score, comment = _of(feedback, "score"), _of(feedback, "comment")
    if not isinstance(score, bool | int | float):
        raise ValidationError(f"the feedback {quoted(_of(feedback, 'key'))} has no score, but {quoted(score)}")
    return alma.settle(
        run_id=run_id,
        outcome=Verdict.SUCCESS if score >= GOOD else Verdict.FAILURE,
        reason=None if comment is None else str(comment).strip() or None,
        source=VerdictSource.PERSON if _of(_of(feedback, "feedback_source"), "type") == "app" else VerdictSource.EVALUATOR,
    )


def _of(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
