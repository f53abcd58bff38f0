"""Tools by the names, arguments and answers that the published client of alma-memory knows, over the library."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from alma.errors import ScopeViolationError, ValidationError
from alma.types import MemorySlice
from alma_server.asking import Asked
from alma_server.routes.memories import NOTED_BY_AGENT
from alma_server.routes.scope import require_all_users

if TYPE_CHECKING:
    from alma import ALMA

Arguments = Mapping[str, Any]

_SCOPES = {"node": "workflow_only", "run": "workflow_only", "workflow": "workflow_only", "agent": "agent_only"}
_SCOPES |= {"tenant": "project_wide", "global": "project_wide"}
_ARTIFACTS = frozenset({"code", "test", "document", "config", "deployment"})
_LISTED = {
    "heuristics": ("condition", "strategy", "confidence", "occurrence_count", "success_rate"),
    "outcomes": ("task_type", "task_description", "success", "strategy_used", "duration_ms"),
    "domain_knowledge": ("domain", "fact", "confidence"),
    "anti_patterns": ("pattern", "why_bad", "better_alternative"),
    "preferences": ("category", "preference"),
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the right that it needs, whether it writes, the arguments that it cannot do without, and what it does."""

    right: str
    is_write: bool
    needs: tuple[str, ...]
    call: "Callable[[ALMA, Asked, Arguments], dict[str, Any]]"


_LISTS = frozenset({"strategies_used", "states", "branch_ids", "retrieved_memory_ids", "used_memory_ids"})
_OTHERS = frozenset(
    {"state", "metadata", "reducer", "reducer_config", "include_shared", "top_k", "duration_ms", "duration_seconds", "size_bytes"}
    | {"older_than_days", "below_confidence", "keep_latest", "outcome"}
)


def check_types(given: Arguments) -> None:
    """Raises `ValidationError` for an argument that is no list or no text where a tool takes one. The library checks the others."""
    for name, value in given.items():
        wanted = list if name in _LISTS else str
        if value is not None and name not in _OTHERS and not isinstance(value, wanted):
            raise ValidationError(f"{name} must be a {'list' if wanted is list else 'text'}")


def _who(asked: Asked, given: Arguments) -> dict[str, Any]:
    return {"agent": asked.agent(given.get("agent")), "user_id": asked.user(given.get("user_id"))}


def _some(given: Arguments, *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _retrieve(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    return _notes(alma.retrieve(_task(given), **_who(asked, given), **_some(given, "top_k", "include_shared")))


def _retrieve_scoped(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    named = str(given.get("scope", "agent"))
    workflow = given.get("workflow_id") or given.get("run_id")
    scope = _SCOPES.get(named, named)
    found = alma.retrieve_scoped(_task(given), scope, workflow_id=workflow, **_who(asked, given), **_some(given, "top_k"))
    return {**_notes(found), "scope": named, "scope_filter": {}}


def _learn(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    said = _some(given, "strategy_used", "task_type", "duration_ms", "error_message", "feedback", "idempotency_key")
    source = asked.access.source
    stored = alma.learn(task=given["task"], outcome=given["outcome"], **_who(asked, given), **said, verdict_source=source)
    shown = {name: getattr(stored, name) for name in ("id", "agent", "task_type", "success")}
    return {"learned": True, "outcome": shown, "message": "Outcome recorded successfully"}


def _add_preference(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    user = asked.user(given["user_id"]) or given["user_id"]
    made = alma.add_user_preference(
        user, given["category"], given["preference"], agent=asked.any_agent(given.get("agent")), **_source(asked, given)
    )
    return {"preference": {name: getattr(made, name) for name in ("id", "user_id", "category", "preference", "source")}}


def _add_knowledge(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    said = _some(given, "domain", "fact")
    made = alma.add_domain_knowledge(**_who(asked, given), **said, **_source(asked, given))
    return {"knowledge": {name: getattr(made, name) for name in ("id", "agent", "domain", "fact", "source")}}


def _source(asked: Asked, given: Arguments) -> dict[str, Any]:
    """Returns the source of a statement: what an agent states without one is its note."""
    said = _some(given, "source")
    if asked.access.source == "agent":
        return {"source": NOTED_BY_AGENT, **said}
    return said


def _record_usage(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    _refuse_without_user(asked)
    ids = _some(given, "retrieved_memory_ids", "used_memory_ids")
    report = alma.record_usage(**ids, **_who(asked, given))
    return {"used": list(report.used), "ignored": list(report.ignored), "unknown": list(report.unknown)}


def _record_feedback(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    _refuse_without_user(asked)
    report = alma.record_feedback(given["memory_id"], signal=given["signal"], **_who(asked, given))
    return {"memory_id": given["memory_id"], "recorded": bool(report.counted)}


def _forget(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    require_all_users(asked, "forget by limits")
    report = alma.forget(asked.any_agent(given.get("agent")), **_some(given, "older_than_days", "below_confidence"))
    return {"pruned_count": report.total, "message": f"Pruned {report.total} stale or low-confidence memories"}


def _stats(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    found = alma.get_stats(asked.any_agent(given.get("agent")), users=asked.access.users)
    counts = {f"{name}_count": found.get(f"{name}_count", 0) for name in _LISTED}
    return {"stats": {"project_id": found.project_id, "total_count": found.total, **counts, "by_kind": found.by_kind}}


def _health(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    return {"status": "healthy", "project_id": alma.project_id, "timestamp": datetime.now(UTC).isoformat()}


def _checkpoint(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    made = alma.checkpoint(
        _workflow(given),
        given["state"],
        given.get("metadata"),
        branch=given.get("branch_id") or given.get("branch") or "main",
        node=given.get("node_id") or given.get("node"),
        user_id=asked.user(given.get("user_id")),
    )
    return {"checkpoint": _shown(made)}


def _resume(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    branch = given.get("branch_id") or given.get("branch")
    found = alma.resume(_workflow(given), branch=branch, user_id=asked.user(given.get("user_id")))
    if found is None:
        return {"checkpoint": None, "message": "No checkpoint found for this run"}
    return {"checkpoint": {**_shown(found), "state": found.state}}


def _merge_states(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    user, workflow, states = asked.user(given.get("user_id")), _workflow(given), given.get("states")
    if states is None and given.get("branch_ids"):
        found = [alma.resume(workflow, branch=branch, user_id=user) for branch in given["branch_ids"]]
        states = [each.state for each in found if each is not None]
    reducer = given.get("reducer_config") or given.get("reducer") or "latest_wins"
    merged = alma.merge_states(workflow, states, reducer, user_id=user)
    return {"merged_state": merged, "input_count": len(states or ())}


def _workflow_learn(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    said = _some(given, "strategies_used", "task_type", "duration_seconds", "error_message", "metadata")
    source, workflow = asked.access.source, _workflow(given)
    made = alma.learn_from_workflow(
        workflow, result=given["result"], summary=given["summary"], **_who(asked, given), **said, verdict_source=source
    )
    shown = {"id": made.id, "workflow_id": workflow, "result": given["result"], "agent": made.agent}
    return {"outcome": shown, "message": "Workflow outcome recorded successfully"}


def _link_artifact(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    sort = given["artifact_type"]
    made = alma.link_artifact(
        _workflow(given),
        sort if sort in _ARTIFACTS else "document",
        given.get("storage_url") or given.get("ref") or "",
        metadata={"artifact_type": sort, **_some(given, "filename", "mime_type", "size_bytes", "metadata")},
        user_id=asked.user(given.get("user_id")),
    )
    return {"artifact": {"artifact_type": sort, "storage_url": made.ref, "created_at": made.created_at.isoformat()}}


def _get_artifacts(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    found = alma.get_artifacts(_workflow(given), user_id=asked.user(given.get("user_id")))
    shown = [
        {
            "artifact_type": each.metadata.get("artifact_type", each.artifact_type),
            "storage_url": each.ref,
            **{name: each.metadata.get(name) for name in ("filename", "mime_type", "size_bytes")},
            "created_at": each.created_at.isoformat(),
        }
        for each in found
    ]
    return {"artifacts": shown, "count": len(shown)}


def _cleanup_checkpoints(alma: "ALMA", asked: Asked, given: Arguments) -> dict[str, Any]:
    kept = given.get("keep_latest") or 1
    user = asked.user(given.get("user_id"))
    erased = alma.cleanup_checkpoints(0, workflow_id=_workflow(given), keep=kept, user_id=user)
    return {"deleted_count": erased, "kept": kept, "message": f"Deleted {erased} checkpoints, kept {kept}"}


def _notes(found: MemorySlice) -> dict[str, Any]:
    listed: dict[str, Any] = {
        name: [{"id": each.id, **{field: getattr(each, field) for field in fields}} for each in getattr(found, name)]
        for name, fields in _LISTED.items()
    }
    listed |= {name: getattr(found, name) for name in ("query", "agent", "retrieval_time_ms", "total_items")}
    return {"memories": listed, "prompt_injection": found.to_prompt()}


def _shown(made: Any) -> dict[str, Any]:
    return {
        "id": f"{made.workflow_id}/{made.number}",
        "run_id": made.workflow_id,
        "node_id": made.node,
        "sequence_number": made.number,
        "branch_id": made.branch,
        "created_at": made.created_at.isoformat(),
    }


def _task(given: Arguments) -> str:
    task = given.get("task") or given.get("query")
    if not isinstance(task, str):
        raise ValidationError("task cannot be empty")
    return task


def _workflow(given: Arguments) -> str:
    named = given.get("workflow_id") or given.get("run_id") or given.get("memory_id")
    if not isinstance(named, str):
        raise ValidationError("run_id cannot be empty")
    return named


def _refuse_without_user(asked: Asked) -> None:
    """Refuses ids from a token for no user: the library takes an id of a user's memory as a sign that it was shown."""
    if not asked.access.user_id:
        raise ScopeViolationError("this token serves no user; memories are rated at /v1")


TOOLS: Mapping[str, Tool] = {
    "alma_retrieve": Tool("read", False, ("agent",), _retrieve),
    "alma_retrieve_scoped": Tool("read", False, ("agent",), _retrieve_scoped),
    "alma_learn": Tool("write", True, ("agent", "task", "outcome"), _learn),
    "alma_add_preference": Tool("write", True, ("user_id", "category", "preference"), _add_preference),
    "alma_add_knowledge": Tool("write", True, ("agent", "domain", "fact"), _add_knowledge),
    "alma_record_usage": Tool("write", True, ("agent", "retrieved_memory_ids"), _record_usage),
    "alma_record_feedback": Tool("write", True, ("agent", "memory_id", "signal"), _record_feedback),
    "alma_forget": Tool("forget", True, (), _forget),
    "alma_stats": Tool("read", False, (), _stats),
    "alma_health": Tool("read", False, (), _health),
    "alma_checkpoint": Tool("write", True, ("state",), _checkpoint),
    "alma_resume": Tool("read", False, (), _resume),
    "alma_merge_states": Tool("read", False, (), _merge_states),
    "alma_workflow_learn": Tool("write", True, ("agent", "result", "summary"), _workflow_learn),
    "alma_link_artifact": Tool("write", True, ("artifact_type",), _link_artifact),
    "alma_get_artifacts": Tool("read", False, (), _get_artifacts),
    "alma_cleanup_checkpoints": Tool("forget", True, (), _cleanup_checkpoints),
}
"""The tools of alma-memory's server, but for `alma_consolidate`, and those of rating, which its client calls and its server lacks."""
