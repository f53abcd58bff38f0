"""Records tool calls and corrections of a run as steps of its episode."""

from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from alma import Episode
from alma.errors import ValidationError
from alma.text import one_line, quoted, shortened
from alma_integration.answers import ToolVerdict, answer_text
from alma_integration.calls import ToolUse, call_with_arguments, clean_values, named_call
from alma_integration.credit import ToolStep
from alma_integration.differences import describe_difference
from alma_integration.parts import Part

if TYPE_CHECKING:
    from alma_integration.run import Run

ANSWER, SENT_BACK = "answer", "work that was sent back"
"""Tool and beginning of the action of a correction. The reason is part of the action, so that each reason is a lesson of its own."""
REASON_CHARS = 200


def record_result(run: "Run", part: Part, use: ToolUse, result: Any, seconds: float | None, ok: bool | None) -> None:
    """Records a call that returned. `tool_outcome` decides whether it succeeded, unless the framework reports a failure."""
    verdict: ToolVerdict | bool | None = None
    with run.integration.guard("the outcome of a tool could not be judged", run):
        verdict = _outcome_of(run.options.tool_outcome(use.name, result))
    said = answer_text(result)
    error = verdict.error if isinstance(verdict, ToolVerdict) else None
    did_well = verdict.ok if isinstance(verdict, ToolVerdict) else verdict
    if ok is False or did_well is False:
        record_call(run, part, use, False, None, error or said or "it reported an error", seconds, True)
    else:
        record_call(run, part, use, did_well, said or None, None, seconds, True)


def _outcome_of(said: Any) -> ToolVerdict | bool | None:
    """Returns the result of a `tool_outcome`. `ValidationError` for anything but a verdict, true, false and `None`."""
    if said is None or isinstance(said, bool | ToolVerdict):
        return said
    if type(said).__name__ in ("bool", "bool_"):  # numpy's
        return bool(said)
    raise ValidationError(f"tool_outcome gives True, False, None or a ToolVerdict, not {quoted(said)}")


def record_call(
    run: "Run",
    part: Part,
    use: ToolUse,
    ok: bool | None,
    output: str | None,
    error: str | None,
    seconds: float | None,
    is_made: bool,
    *,
    may_be_known: bool = False,
) -> None:
    """Records a call with its outcome, as a step of the part's episode; not again if it `may_be_known` and is, from before an interrupt."""
    action, kept, failure, repair = use.name, None, None, None  # a text that could not be redacted is not stored
    with run.integration.guard("a tool call could not be put in words", run):
        clean = replace(use, arguments=clean_values(use.arguments, run.integration.stored))
        said = run.stored(run.options.action(clean) or use.name) or use.name
        action, kept, failure = said, run.stored(output), run.stored(error)
        repair = _difference(run, part, use, action) if ok else None
    if may_be_known and run.begun(part) is not None and action in part.known:
        part.known.remove(action)
        return
    if use.arguments and run.saw_notes is not False:
        run.observe(part, str(use.arguments))
    step = ToolStep(
        agent=part.agent,
        tool=use.name,
        action=action,
        ok=ok,
        arguments=use.arguments,
        output=kept,
        error=failure,
        duration_ms=None if seconds is None else max(seconds, 0.0) * 1e3,
        is_made=is_made,
    )
    part.steps.append(step)
    run.taken.append(step)
    _record(run, part, step, repair)


def _difference(run: "Run", part: Part, use: ToolUse, action: str) -> str | None:
    """Returns the arguments of a repair that differ from those of the failed call before it, where both read the same.

    With an `action` of the user, or one that keeps values private, there is none.
    """
    if run.options.action not in (named_call, call_with_arguments):
        return None
    since = takewhile(lambda step: not (step.ok and step.tool == use.name), reversed(part.steps))
    failed = (step.arguments for step in since if step.ok is False and step.action == action and step.arguments)
    found = (describe_difference(arguments, use.arguments, run.integration.stored) for arguments in failed)
    return next(filter(None, found), None)


def _record(run: "Run", part: Part, step: ToolStep, feedback: str | None) -> None:
    if (episode := run.begun(part)) is None:
        return
    with run.integration.guard("a step was not recorded", run):
        run.written(
            part,
            partial(
                episode.step,
                step.action,
                step.ok,
                error=step.error,
                output=step.output,
                duration_ms=step.duration_ms,
                tool=step.tool,
                feedback=feedback,
            ),
        )


def take_back(run: "Run", part: Part, episode: Episode) -> None:
    """Reads the steps that a resumed episode had before, once, so that the whole run is judged and credited.

    Whether a call without an outcome was made is not stored: such a call is not credited.
    """
    if not part.lacks_steps:
        return
    part.lacks_steps, earlier = False, episode.record.steps
    corrections = [step for step in earlier if step.tool == ANSWER and step.action.startswith(SENT_BACK)]
    calls = [
        ToolStep(
            agent=part.agent,
            tool=step.tool,
            action=step.action,
            ok=step.ok,
            arguments={},
            output=step.output,
            error=step.error,
            duration_ms=step.duration_ms,
            is_made=step.ok is not None,
        )
        for step in earlier
        if step not in corrections
    ]
    part.known = [step.action for step in calls if step.ok is not True]
    part.corrections[:0] = [step.error for step in corrections if step.error]
    part.steps[:0] = calls
    run.taken[:0] = calls


def record_correction(run: "Run", part: Part, reason: object) -> None:
    """Records why work of the agent was sent back, once for each reason."""
    said = None
    with run.integration.guard("a correction could not be read", run):
        said = run.stored(str(reason).strip())
    if not said:
        return
    episode = run.begun(part)  # which knows what was corrected before
    if said in part.corrections:
        return
    part.corrections.append(said)
    if episode is not None:
        with run.integration.guard("a correction was not recorded", run):
            run.written(
                part,
                partial(episode.step, f"{SENT_BACK}: {shortened(one_line(said), REASON_CHARS)}", False, error=said, tool=ANSWER),
            )
