"""Tools for work that goes on: checkpoints and results of workflows, wake-up, hand-offs."""

from typing import Annotated, Any

from pydantic import Field

from alma.errors import ScopeViolationError
from alma.types.package_records import Checkpoint
from alma_mcp.answers import Artifacts, Cleaned, HandedOff, Linked, Merged, Notes, Resumed, Saved, Stored, Woken
from alma_mcp.calls import Calls
from alma_mcp.tools.arguments import Agent, TaskType, TopK, UserId, Verdict
from alma_mcp.tools.before import notes_of

WorkflowId = Annotated[str, Field(description="The workflow's own name.")]
State = Annotated[dict[str, Any], Field(description="JSON, at most 1 MiB.")]
Branch = Annotated[str, Field(description="Of parallel work.")]
Texts = list[str] | None


def checkpoint(
    calls: Calls,
    workflow_id: WorkflowId,
    state: State,
    metadata: dict[str, Any] | None = None,
    branch: Branch = "main",
    node: Annotated[str | None, Field(description="The step.")] = None,
    user_id: UserId = None,
) -> Saved:
    """Use after each step of long work: stores its state, so that it can go on after a crash."""
    user = calls.access.as_user(user_id)
    made = calls.alma.checkpoint(workflow_id, state, metadata, branch=branch, node=node, user_id=user)
    return Saved(workflow_id=made.workflow_id, number=made.number, branch=made.branch)


def resume(
    calls: Calls,
    workflow_id: WorkflowId,
    branch: str | None = None,
    node: str | None = None,
    user_id: UserId = None,
) -> Resumed:
    """Use before going on with long work: its newest checkpoint, if there is one."""
    found = calls.alma.resume(workflow_id, branch=branch, node=node, user_id=calls.access.as_user(user_id))
    return Resumed(found=False, state={}) if found is None else _resumed(found)


def merge_states(
    calls: Calls,
    workflow_id: WorkflowId,
    states: Annotated[list[dict[str, Any]] | None, Field(description="Oldest first; the branches' newest if left out.")] = None,
    reducer: Annotated[
        str, Field(description="latest_wins, priority_agent, merge_lists, union, merge_dicts, sum, max or min.")
    ] = "latest_wins",
    user_id: UserId = None,
) -> Merged:
    """Use when parallel branches come together: one state made of several. Stores nothing."""
    return Merged(state=calls.alma.merge_states(workflow_id, states, reducer, user_id=calls.access.as_user(user_id)))


def workflow_learn(
    calls: Calls,
    workflow_id: WorkflowId,
    result: Annotated[str, Field(json_schema_extra={"enum": ["success", "failure", "partial", "cancelled", "timeout"]})],
    summary: Annotated[str, Field(description="The work in one sentence.")],
    strategies_used: Texts = None,
    task_type: TaskType = None,
    error_message: Annotated[str | None, Field(description="The error, if it failed.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
) -> Stored:
    """Use when a workflow has ended: records how it went as a whole."""
    who = calls.access
    stored = calls.alma.learn_from_workflow(
        workflow_id,
        who.as_agent(agent),
        result,
        summary,
        strategies_used=strategies_used or (),
        task_type=task_type,
        error_message=error_message,
        user_id=who.as_user(user_id),
        verdict_source=who.source,
    )
    return Stored(id=stored.id)


def link_artifact(
    calls: Calls,
    workflow_id: WorkflowId,
    artifact_type: Annotated[str, Field(description="code, test, document, config or deployment.")],
    ref: Annotated[str, Field(description="Path, URL or id. It is never opened.")],
    user_id: UserId = None,
) -> Linked:
    """Use when a workflow has produced something: records where it is."""
    made = calls.alma.link_artifact(workflow_id, artifact_type, ref, user_id=calls.access.as_user(user_id))
    return Linked(artifact_type=made.artifact_type, ref=made.ref)


def get_artifacts(calls: Calls, workflow_id: WorkflowId, artifact_type: str | None = None, user_id: UserId = None) -> Artifacts:
    """Use to see what a workflow has produced so far."""
    found = calls.alma.get_artifacts(workflow_id, artifact_type, user_id=calls.access.as_user(user_id))
    return Artifacts(artifacts=[Linked(artifact_type=each.artifact_type, ref=each.ref) for each in found])


def cleanup_checkpoints(
    calls: Calls,
    older_than_days: float = 7,
    workflow_id: Annotated[str | None, Field(description="All workflows if left out.")] = None,
    user_id: UserId = None,
) -> Cleaned:
    """Use to erase old checkpoints for good. The newest of each branch stays."""
    who = calls.access
    if workflow_id is None and not who.is_for_all_users:
        raise ScopeViolationError("this client cleans up one workflow at a time: without a workflow_id it reaches all users")
    erased = calls.alma.cleanup_checkpoints(older_than_days, workflow_id=workflow_id, user_id=who.as_user(user_id))
    return Cleaned(erased=erased)


def retrieve_scoped(
    calls: Calls,
    query: Annotated[str, Field(description="The task in one sentence.")],
    scope: Annotated[str, Field(json_schema_extra={"enum": ["workflow_only", "agent_only", "project_wide"]})],
    workflow_id: str | None = None,
    agent: Agent = None,
    user_id: UserId = None,
    top_k: TopK = 5,
    max_tokens: Annotated[int, Field(description="Budget of the notes.")] = 2000,
) -> Notes:
    """Use before a step of a workflow: what is known from this workflow alone, from you alone, or from all that you may read."""
    who = calls.access
    found = calls.alma.retrieve_scoped(
        query, scope, agent=who.as_agent(agent), workflow_id=workflow_id, user_id=who.as_user(user_id), top_k=top_k
    )
    return notes_of(found, max_tokens)


def wakeup(
    calls: Calls,
    agent: Agent = None,
    user_id: UserId = None,
    max_tokens: Annotated[int, Field(description="Budget of the notes.")] = 900,
) -> Woken:
    """Use at the start of a session: who you are, where you stopped, what the user prefers, your strongest lessons."""
    who = calls.access
    return Woken(notes=calls.alma.wakeup(who.as_agent(agent), who.as_user(user_id), max_tokens))


def handoff(
    calls: Calls,
    goal: Annotated[str, Field(description="What the session was for.")],
    last_action: Annotated[str, Field(description="What was done last.")],
    last_outcome: Verdict = "unverified",
    next_steps: Texts = None,
    blockers: Texts = None,
    agent: Agent = None,
    user_id: UserId = None,
) -> HandedOff:
    """Use at the end of a session: leaves a note for the next one, which alma_wakeup shows."""
    from alma.session import SessionManager  # the server answers before the core is loaded

    who = calls.access
    stored = SessionManager(alma=calls.alma).record_handoff(
        who.as_agent(agent),
        goal,
        last_action,
        last_outcome,
        user_id=who.as_user(user_id),
        next_steps=next_steps or [],
        blockers=blockers or [],
    )
    return HandedOff(session_id=stored.session_id)


def _resumed(found: Checkpoint) -> Resumed:
    return Resumed(
        found=True,
        number=found.number,
        branch=found.branch,
        node=found.node or "",
        at=found.created_at.isoformat(),
        state=found.state,
        metadata=found.metadata,
    )
