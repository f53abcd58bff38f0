"""Methods of `ALMA` that this package provides: workflows, wake-up, and learning from what others run. One line per method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from alma.types.kinds import VerdictSource
from alma.types.memories import Outcome
from alma.types.package_records import Artifact, Checkpoint
from alma.types.slice import MemorySlice

State = Mapping[str, Any]
F = TypeVar("F", bound=Callable[..., Any])
Reducer = str | Callable[[list[Any]], Any]


def _harness(module: str) -> ModuleType:
    """Returns a module of this package, which is loaded when one of its methods is first called."""
    return import_module(f"alma_harness.{module}")


class HarnessMethods:
    """Methods that agents use around a task, and methods that learn from functions and from traces."""

    def checkpoint(
        self,
        workflow_id: str,
        state: State,
        metadata: State | None = None,
        *,
        branch: str = "main",
        node: str | None = None,
        name: str | None = None,
        user_id: str | None = None,
    ) -> Checkpoint:
        """Stores the state of a workflow durably, at most 1 MiB as JSON, and returns the checkpoint.

        A state equal to the newest one of its branch, at the same node and name, is not stored again. Checkpoints of several processes are
        all kept, in the order in which they were stored. Secrets in a state are replaced, as in every text.
        """
        found: Checkpoint = _harness("workflow").checkpoint(
            self, workflow_id, state, metadata, branch=branch, node=node, name=name, user_id=user_id
        )
        return found

    def resume(
        self,
        workflow_id: str,
        *,
        branch: str | None = None,
        node: str | None = None,
        name: str | None = None,
        user_id: str | None = None,
    ) -> Checkpoint | None:
        """Returns the newest checkpoint of a workflow, or of a branch, a node or a name of it; `None` if there is none.

        The checkpoints of a user are found with that `user_id` alone.
        """
        found: Checkpoint | None = _harness("workflow").resume(
            self, workflow_id, branch=branch, node=node, name=name, user_id=user_id
        )
        return found

    def cleanup_checkpoints(
        self, older_than_days: float = 7, *, workflow_id: str | None = None, keep: int = 1, user_id: str | None = None
    ) -> int:
        """Erases old checkpoints for good, from the journal too, and returns their number.

        The `keep` newest of each branch stay, however old. Without `workflow_id` it cleans all workflows, of all users; with it, that
        workflow as the user has it.
        """
        found: int = _harness("workflow").cleanup_checkpoints(
            self, older_than_days, workflow_id=workflow_id, keep=keep, user_id=user_id
        )
        return found

    def merge_states(
        self,
        workflow_id: str,
        states: Mapping[str, State] | Sequence[State] | None = None,
        reducer: Reducer | Mapping[str, Reducer] = "latest_wins",
        *,
        user_id: str | None = None,
    ) -> dict[str, Any]:
        """Returns one state made of several, by agent or in order, oldest first; by default of the newest checkpoint of each branch.

        `reducer` decides for a key that several states have: "latest_wins", "priority_agent" (the first state that has it), "merge_lists",
        "union" (lists without repetition), "merge_dicts", "sum", "max", "min", a function of the list of values, or a mapping of keys to
        these, in which other keys take the latest. Writes nothing.
        """
        found: dict[str, Any] = _harness("workflow").merge_states(self, workflow_id, states, reducer, user_id=user_id)
        return found

    def link_artifact(
        self,
        workflow_id: str,
        artifact_type: str,
        ref: str,
        *,
        checksum: str | None = None,
        content: str | bytes | None = None,
        metadata: State | None = None,
        user_id: str | None = None,
    ) -> Artifact:
        """Records what a workflow produced: "code", "test", "document", "config", "deployment", or a type that was registered with
        `alma.workflow.register_artifact_type`.

        `ref` is a path, a URL or an id; it is never opened. `content` computes the checksum. The same type and `ref` again replaces the
        record.
        """
        found: Artifact = _harness("workflow").link_artifact(
            self, workflow_id, artifact_type, ref, checksum=checksum, content=content, metadata=metadata, user_id=user_id
        )
        return found

    def get_artifacts(self, workflow_id: str, artifact_type: str | None = None, *, user_id: str | None = None) -> list[Artifact]:
        """Returns the artifacts of a workflow, or those of one type, oldest first."""
        found: list[Artifact] = _harness("workflow").get_artifacts(self, workflow_id, artifact_type, user_id=user_id)
        return found

    def learn_from_workflow(
        self,
        workflow_id: str,
        agent: str,
        result: str,
        summary: str,
        *,
        strategies_used: Iterable[str] = (),
        task_type: str | None = None,
        duration_seconds: float | None = None,
        error_message: str | None = None,
        user_id: str | None = None,
        metadata: State | None = None,
        idempotency_key: str | None = None,
        verdict_source: str | VerdictSource = VerdictSource.CALLER,
    ) -> Outcome:
        """Records the outcome of a whole workflow: "success", "failure", "partial", "timeout" (a failure) or "cancelled" (neutral).

        `verdict_source` says who judged, as for `learn`.
        The outcome is found again with `retrieve_scoped(…, "workflow_only", workflow_id=…)`.
        """
        found: Outcome = _harness("workflow").learn_from_workflow(
            self,
            workflow_id,
            agent,
            result,
            summary,
            strategies_used=strategies_used,
            task_type=task_type,
            duration_seconds=duration_seconds,
            error_message=error_message,
            user_id=user_id,
            metadata=metadata,
            idempotency_key=idempotency_key,
            verdict_source=verdict_source,
        )
        return found

    def retrieve_scoped(
        self,
        query: str,
        scope: str,
        agent: str | None = None,
        workflow_id: str | None = None,
        *,
        user_id: str | None = None,
        top_k: int = 5,
    ) -> MemorySlice:
        """Returns what matters for a task, like `retrieve`, of one scope alone.

        "workflow_only" has memories with this `workflow_id` in their metadata, "agent_only" the agent's own, without shared ones,
        "project_wide" all that the agent may read. At most `top_k` of each kind. The first two are chosen from the 1,000 of each kind that
        match the task best. Without an `agent` or a `workflow_id` the only one is taken; where there are several, that is an error. Without an
        `agent`, the slice of an empty memory is empty.
        """
        found: MemorySlice = _harness("workflow").retrieve_scoped(
            self, query, scope, agent=agent, workflow_id=workflow_id, user_id=user_id, top_k=top_k
        )
        return found

    def wakeup(self, agent: str, user_id: str | None = None, max_tokens: int = 900) -> str:
        """Returns what an agent needs at the start of a session, as fenced notes of at most `max_tokens`: who it is, its last hand-off, the
        user's preferences, its strongest lessons, its newest facts.

        The same bytes while nothing changed. Only what is the agent's own, or this user's with it, is included.
        """
        found: str = _harness("stack").wakeup(self, agent, user_id, max_tokens)
        return found

    def remembers(self, agent: Any = None, *, task: str | Callable[..., str] | None = None, **options: Any) -> Callable[[F], F]:
        """Returns a decorator for a function, a coroutine function or a generator of either kind: each call is recorded as a run.

        `agent` is a name, or a function of the `RunContext`. The task is the argument that `task` names, or what `task` returns for the
        arguments; by default the argument `task`, else the first text. A parameter `notes` is given what is remembered. A function with
        further arguments is itself the step that is learned: `deploy(way="rolling")`. Its exception is a failure, and raised again.
        `options` are those of `alma.integration.Options`. Needs `alma-core[harness]`.
        """
        decorator: Callable[[F], F] = _harness("remembering").remembers(self, agent, task=task, **options)
        return decorator

    def learn_from_spans(self, /, spans: str | bytes | Mapping[str, Any], agent: str | None = None, **options: Any) -> Any:
        """Records the runs of OpenTelemetry traces: OTLP JSON as a text, a mapping, or one document per line. Returns a `SpansReport`.

        Each `invoke_agent` span is a run of `gen_ai.agent.name`, or of `agent`; the `execute_tool` spans below it are its steps; a span with an
        error is a failure. Runs that were recorded before are left out. What cannot be read is a `ValidationError`, and nothing is stored.
        `options` are those of `alma.integration.Options`. Needs `alma-core[harness]`.
        """
        return _harness("traces").learn_from_spans(self, spans, agent=agent, **options)

    def get_proactive_suggestions(
        self,
        current_context: str,
        agent: str,
        *,
        user_id: str | None = None,
        threshold: float = 0.5,
        limit: int = 5,
        now: datetime | None = None,
    ) -> list[Any]:
        """Returns what an agent should hear unasked in a context: `Suggestion`s, nearest first; none where nothing reaches the threshold.

        A "warning" is an anti-pattern, an "open_item" a task that the agent began and did not end, an "expiring_fact" a fact whose metadata has
        an `expires_at` (ISO 8601) that is past, or within 7 days of `now`. `threshold` is the least similarity, 0 to 1. Writes nothing. Needs
        `alma-core[harness]`.
        """
        found: list[Any] = _harness("proactive").get_proactive_suggestions(
            self, current_context, agent, user_id=user_id, threshold=threshold, limit=limit, now=now
        )
        return found
