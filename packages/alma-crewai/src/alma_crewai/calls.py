"""Reports the calls of a crew's tools to a `Run`."""

from crewai.events.types.tool_usage_events import ToolFailureDetectedEvent, ToolUsageFinishedEvent
from crewai.tools.tool_failure import ToolFailure, ToolFailureReason
from crewai.utilities.string_utils import sanitize_tool_name

from alma_crewai.actors import Work
from alma_integration import Run, ToolUse, schema_of, tool_use

OWN_TOOLS = {"search_memory", "save_to_memory"}
"""Memory tools: CrewAI's, and those that `alma_crewai.tools` created. Their success says nothing about how the task was done."""
DELEGATING = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""Tools whose result is an answer of an agent, which no guardrail has checked: it is not stored."""
BLOCKED = "Tool execution blocked by hook."
"""Beginning of CrewAI's result for a call that a hook of the user refused."""
NO_COWORKER, COWORKER_FAILED = "Error executing tool. coworker mentioned not found", "Error executing task with agent '"
"""Beginnings of CrewAI's results for a delegation to an unknown coworker, and to a coworker that failed, which is the coworker's
failure."""


def report(run: Run, work: Work, event: ToolFailureDetectedEvent | ToolUsageFinishedEvent) -> None:
    """Reports a call that failed or returned. For a failure, CrewAI also sends the event of a finished call, which is left out."""
    if event.tool_name in OWN_TOOLS or (isinstance(event, ToolUsageFinishedEvent) and event.failure is not None):
        return
    use = _use(run, work, event.tool_name, event.tool_args)
    if isinstance(event, ToolUsageFinishedEvent):
        _returned(run, use, event)
    elif event.failure.reason is ToolFailureReason.USAGE_LIMIT:
        run.tool_refused(use, _said(event.failure))
    else:
        run.tool_failed(use, _said(event.failure))


def _returned(run: Run, use: ToolUse, event: ToolUsageFinishedEvent) -> None:
    output, is_delegated = str(event.output).strip(), use.name in DELEGATING
    if is_delegated and output.startswith(NO_COWORKER):
        run.tool_failed(use, output)
    elif is_delegated and output.startswith(COWORKER_FAILED):
        run.tool_refused(use)
    elif output.startswith(BLOCKED):
        run.tool_refused(use, output)
    else:
        took = (event.finished_at - event.started_at).total_seconds()
        run.tool_returned(use, "" if is_delegated else event.output, seconds=took)


def _use(run: Run, work: Work, name: str, given: object) -> ToolUse:
    tools = [*(getattr(work.task, "tools", None) or ()), *(getattr(work.agent, "tools", None) or ())]
    schemas = (schema_of(tool.args_schema) for tool in tools if sanitize_tool_name(tool.name) == name)
    return tool_use(name, given, schema=next(schemas, None), task=run.task)


def _said(failure: ToolFailure) -> str:
    """Returns the text of a failure; of an exception in the form of other frameworks, so that a store has it once."""
    if failure.reason is not ToolFailureReason.EXCEPTION or not failure.code:
        return str(failure.as_agent_message())
    return str(failure.code) if failure.message == failure.code else f"{failure.code}: {failure.message}"
