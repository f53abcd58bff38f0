"""Turns the report of a run into its result, and back."""

from dataclasses import replace

from alma_harness.setting import RunResult
from alma_integration import Run, RunReport, Verdict

_SUCCESS = {Verdict.SUCCESS: True, Verdict.FAILURE: False, Verdict.PARTIAL: False}


def verdict_of(result: RunResult) -> Verdict | None:
    """Returns the verdict of a result that an agent or a caller made; `None` if it has none."""
    return None if result.success is None else Verdict.SUCCESS if result.success else Verdict.FAILURE


def result_of(run: Run, given: RunResult, report: RunReport | None, *, prompt: str, duration_ms: float) -> RunResult:
    """Returns the result with what the run recorded. Without a report the run was not recorded, see `Integration.errors`."""
    record = report.episodes[0] if report else None
    success = _SUCCESS.get(record.outcome) if record and record.outcome else given.success
    said = (report.summary, record.feedback) if report and record else ()
    return replace(
        given,
        success=success,
        reflections=(*given.reflections, *filter(None, said)),
        tools_used=given.tools_used or tuple(dict.fromkeys(step.tool for step in run.steps)),
        duration_ms=given.duration_ms or duration_ms,
        error=given.error or (record.error if record else None),
        prompt=prompt,
        memories=run.memories,
        episode_id=run.episode_id,
        episode=None,
        report=report,
    )
