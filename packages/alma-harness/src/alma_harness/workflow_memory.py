"""Learning from a workflow, and retrieval within a workflow."""

import math
from collections.abc import Iterable
from typing import Any

from alma import ALMA
from alma.errors import ValidationError
from alma.types import MemorySlice, Outcome, Recalled
from alma_harness.keys import checked_key
from alma_integration import (
    checked_choice,
    checked_count,
    checked_items,
    checked_json,
    checked_name,
    checked_text,
    holding,
    optional_name,
    optional_text,
)

RESULTS = {"success": "success", "failure": "failure", "partial": "partial", "timeout": "failure", "cancelled": "unverified"}
"""The verdict of each result of a workflow."""

SCOPES = ("workflow_only", "agent_only", "project_wide")
WORKFLOW = "workflow_id"
RESULT = "workflow_result"
LARGEST_METADATA = 90_000
MOST = 1_000
LONGEST_STRATEGY = 10_000


def learn_from_workflow(
    alma: ALMA,
    workflow_id: object,
    agent: Any,
    result: object,
    summary: Any,
    *,
    strategies_used: object,
    task_type: Any,
    duration_seconds: object,
    error_message: object,
    user_id: Any,
    metadata: object,
    idempotency_key: Any,
    verdict_source: Any,
) -> Outcome:
    """Records the outcome under the workflow's id."""
    workflow = checked_key(workflow_id, WORKFLOW)
    word = checked_choice(result, "result", RESULTS)
    given = {} if metadata is None else checked_json(metadata, "metadata", largest=LARGEST_METADATA)
    used = [checked_text(one, "a strategy", limit=LONGEST_STRATEGY) for one in checked_items(strategies_used, "strategies_used")]
    error = optional_text(error_message, "error_message")
    return alma.learn(
        agent=agent,
        task=summary,
        outcome=RESULTS[word],
        strategy_used="; ".join(used) or None,
        task_type=task_type,
        user_id=user_id,
        duration_ms=_milliseconds(duration_seconds),
        error_message=error or ("the workflow ran out of time" if word == "timeout" else None),
        metadata={**given, WORKFLOW: workflow, RESULT: word},
        idempotency_key=idempotency_key,
        verdict_source=verdict_source,
    )


def retrieve_scoped(
    alma: ALMA, query: Any, scope: object, *, agent: Any, workflow_id: object, user_id: Any, top_k: object
) -> MemorySlice:
    """Searches everything that the agent may read and keeps what is of the scope."""
    chosen = checked_choice(scope, "scope", SCOPES)
    most = checked_count(top_k, "top_k", largest=MOST)
    workflow = None if workflow_id is None else checked_key(workflow_id, WORKFLOW)
    if agent is None:
        owners = alma.get_stats().by_agent
        if not owners:
            return MemorySlice(query=checked_text(query, "query"), project_id=alma.project_id)
        agent = _only_agent(owners)
    if chosen == "project_wide":
        return alma.retrieve(task=query, agent=agent, user_id=user_id, top_k=most)
    if chosen == "workflow_only" and workflow is None:
        workflow = _only_workflow(alma, agent, user_id)
    own = chosen == "agent_only"
    found = alma.retrieve(task=query, agent=agent, user_id=user_id, top_k=MOST, include_shared=not own)
    if not own:  # a way was tried in other workflows, too
        found = found.model_copy(update={"strategies": ()})
    kept: list[Recalled] = []
    counts: dict[str, int] = {}
    for item in found.recalled:
        memory = item.memory
        is_within = memory.agent == found.agent if own else memory.metadata.get(WORKFLOW) == workflow
        if is_within and counts.get(memory.kind, 0) < most:
            counts[memory.kind] = counts.get(memory.kind, 0) + 1
            kept.append(item)
    ids = {item.memory.id for item in kept}
    pairs = tuple(pair for pair in found.contradictions if ids.issuperset(pair.ids))
    return holding(found, kept).model_copy(update={"contradictions": pairs})


def _only_agent(owners: Iterable[str]) -> str | None:
    """Returns the agent of a project where one agent alone has memories. Names of users are listed beside those of agents."""
    agents = [name for name in owners if not name.startswith("user:")]
    return agents[0] if len(agents) == 1 else None


def _only_workflow(alma: ALMA, agent: Any, user_id: Any) -> str:
    """Returns the workflow of the agent's newest 1,000 outcomes. `ValidationError` if there are several or none."""
    user = optional_name(user_id, "user_id")
    outcomes = alma.list_memories("outcome", checked_name(agent, "agent"), user, limit=MOST)
    names = {one.metadata[WORKFLOW] for one in outcomes if one.user_id in (None, user) and WORKFLOW in one.metadata}
    if len(names) != 1:
        raise ValidationError(
            f"workflow_id is missing; the scope workflow_only needs it, since there are {len(names) or 'no'} workflows"
        )
    return str(names.pop())


def _milliseconds(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 2**40 or math.isnan(seconds):
        raise ValidationError("duration_seconds must be a number of seconds, 0 or more")
    return seconds * 1_000.0
