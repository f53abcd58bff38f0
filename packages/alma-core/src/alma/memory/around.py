"""Methods of `ALMA` for workflows and wake-up, which `alma-harness` provides: one line per method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from alma.extensions import extension
from alma.memory.argument_order import by_place
from alma.types.kinds import VerdictSource
from alma.types.memories import Outcome
from alma.types.slice import MemorySlice
from alma.types.workflows import Artifact, Checkpoint

State = Mapping[str, Any]
Reducer = str | Callable[[list[Any]], Any]


def harness(module: str) -> ModuleType:
    """Returns a module of `alma_harness`. `MissingDependencyError` if the package is not installed."""
    return extension(f"alma_harness.{module}", "harness", "workflows and wake-up are")


class Around:
    """What agents use around a task."""

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
        found: Checkpoint = harness("workflow").checkpoint(
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
        found: Checkpoint | None = harness("workflow").resume(
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
        found: int = harness("workflow").cleanup_checkpoints(
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
        found: dict[str, Any] = harness("workflow").merge_states(self, workflow_id, states, reducer, user_id=user_id)
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
        found: Artifact = harness("workflow").link_artifact(
            self, workflow_id, artifact_type, ref, checksum=checksum, content=content, metadata=metadata, user_id=user_id
        )
        return found

    def get_artifacts(self, workflow_id: str, artifact_type: str | None = None, *, user_id: str | None = None) -> list[Artifact]:
        """Returns the artifacts of a workflow, or those of one type, oldest first."""
        found: list[Artifact] = harness("workflow").get_artifacts(self, workflow_id, artifact_type, user_id=user_id)
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
        found: Outcome = harness("workflow").learn_from_workflow(
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

    @by_place("query")
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
        match the task best.
        """
        found: MemorySlice = harness("workflow").retrieve_scoped(
            self, query, scope, agent=agent, workflow_id=workflow_id, user_id=user_id, top_k=top_k
        )
        return found

    def wakeup(self, agent: str, user_id: str | None = None, max_tokens: int = 900) -> str:
        """Returns what an agent needs at the start of a session, as fenced notes of at most `max_tokens`: who it is, its last hand-off, the
        user's preferences, its strongest lessons, its newest facts.

        The same bytes while nothing changed. Only what is the agent's own, or this user's with it, is included.
        """
        found: str = harness("stack").wakeup(self, agent, user_id, max_tokens)
        return found
