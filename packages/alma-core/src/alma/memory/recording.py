"""Methods of `ALMA` that record: memories and their use, attempts at tasks, what `alma-harness` adds."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from alma.episode import Episode
from alma.extensions import LateMethod, extension
from alma.memory import arguments as args
from alma.memory import kinds
from alma.memory.administration import Admin
from alma.memory.episodes import closing, forecasts, lifecycle, records, usage
from alma.memory.learn import adding, editing
from alma.memory.operation import forwarded, operation
from alma.types.episodes import EpisodeRecord
from alma.types.kinds import FeedbackSignal, MemoryType, Verdict, VerdictSource
from alma.types.reports import FeedbackReport, UsageReport
from alma.types.slice import MemorySlice

HARNESS_METHODS = (
    "checkpoint",
    "cleanup_checkpoints",
    "get_artifacts",
    "get_proactive_suggestions",
    "learn_from_spans",
    "learn_from_workflow",
    "link_artifact",
    "merge_states",
    "remembers",
    "resume",
    "retrieve_scoped",
    "wakeup",
)

KNOWLEDGE_METHODS = ("compress", "consolidate", "playbook", "reflect")


def _load(name: str) -> Callable[..., Any]:
    """Returns the method as the package has it, with the one wrapper of the methods of `ALMA`."""
    methods = extension("alma_harness.methods", "harness", "workflows, wake-up, functions and traces are").HarnessMethods
    method: Callable[..., Any] = getattr(methods, name)
    return operation(method)


def _load_events(name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(extension("alma_events.methods", "events", "events are").EventMethods, name)
    return operation(method)


def _load_knowledge(name: str) -> Callable[..., Any]:
    methods = extension("alma_knowledge.methods", "knowledge", "consolidation, compression and reflection are").KnowledgeMethods
    method: Callable[..., Any] = getattr(methods, name)
    return operation(method)


if TYPE_CHECKING:
    from alma_events.methods import EventMethods as EventMethods
    from alma_graph.graph import Graph
    from alma_harness.methods import HarnessMethods as HarnessMethods
    from alma_knowledge.methods import KnowledgeMethods as KnowledgeMethods
else:
    EventMethods = type("EventMethods", (), {"events": LateMethod(_load_events)})
    HarnessMethods = type("HarnessMethods", (), {name: LateMethod(_load) for name in HARNESS_METHODS})
    KnowledgeMethods = type("KnowledgeMethods", (), {name: LateMethod(_load_knowledge) for name in KNOWLEDGE_METHODS})


class Recording(Admin, EventMethods, HarnessMethods, KnowledgeMethods):
    """Methods that record."""

    @property
    def graph(self) -> "Graph":
        """Entities and dated relations of what the memories speak of: `alma.graph.Graph`, of the package alma-graph."""
        return extension("alma_graph.graph", "graph", "the graph is").Graph(self)  # type: ignore[no-any-return] # loaded when it is first used

    add_user_preference = forwarded(adding.add_user_preference)
    add_domain_knowledge = forwarded(adding.add_domain_knowledge)
    add_anti_pattern = forwarded(adding.add_anti_pattern)
    add_conversation = forwarded(adding.add_conversation)
    add_heuristic = forwarded(adding.add_heuristic)
    add = forwarded(adding.add)
    add_many = forwarded(adding.add_many)
    edit = forwarded(editing.edit)
    register_memory_type = forwarded(kinds.register_memory_type)
    memory_types = forwarded(kinds.memory_types)

    @operation
    def record_usage(
        self,
        retrieved_memory_ids: Sequence[str],
        used_memory_ids: Sequence[str] | None = None,
        memory_type: MemoryType | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> UsageReport:
        """Counts which of the memories shown were used; the others count as ignored.

        With `used_memory_ids=None` the usage is unknown, and nothing is counted. Ids that the agent cannot see are reported and logged,
        not raised. `memory_type` and `query` are not needed: ids are unique.
        """
        return usage.record_usage(self._room, retrieved=retrieved_memory_ids, used=used_memory_ids, agent=agent, user_id=user_id)

    @operation
    def record_feedback(
        self,
        memory_id: str,
        memory_type: MemoryType | str | None = None,
        signal: FeedbackSignal | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> FeedbackReport:
        """Counts one signal about a memory: "used", "ignored", "thumbs_up" or "thumbs_down".

        An id that the agent cannot see is reported and logged, not raised, as by `record_usage`. `memory_type` and `query` are not
        needed.
        """
        return usage.record_feedback(self._room, memory_id=memory_id, signal=signal, agent=agent, user_id=user_id)

    @operation
    def episode(
        self,
        agent: str,
        task: str,
        *,
        user_id: str | None = None,
        task_type: str | None = None,
        episode_id: str | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
        top_k: int = 5,
        memories: MemorySlice | None = None,
        deferred: bool = False,
    ) -> Episode:
        """Begins an attempt at a task: retrieves what matters for it, and records what was shown and done, and the outcome.

        `memories` is the slice to show, if the caller has retrieved it for this agent before; nothing is retrieved then. Use the episode
        in a `with` block, or end it yourself. `ConflictError` if an episode of that `episode_id` exists, `ScopeViolationError` if the
        agent may not learn from the task. An episode that is silent for ten minutes is marked abandoned, until a step or a verdict comes.
        `deferred` saves a write: the beginning is stored with the first step, the ending or the suspension. Until then only this process
        sees the episode, and a crash leaves no trace of it. With an `episode_id` it is stored at once all the same.

        `run_id` and `thread_id` are the caller's own, at most 200 characters each. A run may have several episodes, say one of each agent
        in a hand-off; `run_episodes` and `settle` find them.
        """
        return lifecycle.begin(
            self._room,
            agent=agent,
            task=task,
            user_id=user_id,
            task_type=task_type,
            episode_id=episode_id,
            run_id=run_id,
            thread_id=thread_id,
            top_k=top_k,
            memories=memories,
            deferred=deferred,
        )

    @operation
    def resume_episode(self, episode_id: str, *, memories: MemorySlice | None = None) -> Episode:
        """Resumes an episode that was suspended, or that its program left silent for ten minutes.

        `memories` is the slice it began with, if the caller kept it (`MemorySlice.to_json`). Citations are found without it too.
        `ConflictError` if the episode has ended, or if a program that holds it wrote to it in the last ten minutes.
        """
        return lifecycle.resume(self._room, episode_id=episode_id, memories=memories)

    @overload
    def settle(
        self,
        episode_id: str,
        outcome: str | bool | Verdict,
        reason: str | None = None,
        *,
        run_id: None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord: ...

    @overload
    def settle(
        self,
        *,
        outcome: str | bool | Verdict,
        run_id: str,
        reason: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> list[EpisodeRecord]: ...

    @operation
    def settle(
        self,
        episode_id: str | None = None,
        outcome: str | bool | Verdict | None = None,
        reason: str | None = None,
        *,
        run_id: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord | list[EpisodeRecord]:
        """Sets or corrects the verdict of an episode that has ended, in its record and in its memory, in one transaction.

        With a `run_id` instead of an `episode_id`, it sets that of every episode that ended in the run, all in that one transaction or
        none, and returns all of them, in the order in which they began. Open and abandoned ones are left alone.

        `source` says who judges and becomes the memory's `verdict_source`; without one, that stays as it is. The same verdict of the same
        source again changes nothing. `MemoryNotFoundError` for an unknown episode or run. `ConflictError` for an episode that is still
        open, a run in which none has ended, and where a source that is trusted less, as an agent's own word is, would replace another.
        """
        return closing.settle(self._room, episode_id=episode_id, run_id=run_id, outcome=outcome, reason=reason, source=source)

    @operation
    def get_episode(self, episode_id: str) -> EpisodeRecord:
        """Returns the record of an episode: memories shown, steps, ending. `MemoryNotFoundError` if there is none of that id.

        One that ended unjudged has a `forecast` made from its steps, if at least five of the agent's episodes were judged.
        """
        return forecasts.with_forecasts(self._room, [records.get(self._room, episode_id)])[0]

    @operation
    def recent_episodes(self, limit: int = 20) -> list[EpisodeRecord]:
        """Returns the episodes that began last, newest first. Those that ended unjudged have a `forecast`, as by `get_episode`."""
        return forecasts.with_forecasts(self._room, records.recent(self._room, limit=limit))

    @operation
    def run_episodes(self, run_id: str) -> list[EpisodeRecord]:
        """Returns the episodes that were begun with a `run_id`, in the order in which they began; none if there is no such run.

        Those that ended unjudged have a `forecast`, as by `get_episode`.
        """
        return forecasts.with_forecasts(self._room, records.of_run(self._room, args.checked_id(run_id, "run_id")))

    review = forwarded(forecasts.review)

    # Names that alma-memory has for these; docs/guides/migrating.md maps the others.
    add_preference = add_user_preference
    add_knowledge = add_domain_knowledge
