"""One attempt that is being recorded: what CrewAI tells of it becomes an episode of ALMA."""

import threading
from collections.abc import Callable
from typing import TypeVar

from crewai.events.types.llm_guardrail_events import LLMGuardrailCompletedEvent
from crewai.events.types.tool_usage_events import ToolFailureDetectedEvent, ToolUsageFinishedEvent

from alma import Episode, EpisodeRecord, MemorySlice, ScopeViolationError, Verdict
from alma_crewai.practice import Practice

OWN_TOOLS = frozenset({"search_memory", "save_to_memory", "recall_from_alma", "remember_in_alma"})
"""Tools of memory itself: whether they worked says nothing about how the task was done."""
DELEGATING = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""What these return is an answer of an agent, which no guardrail has seen: it is not kept."""
BLOCKED = "Tool execution blocked by hook."
"""How CrewAI begins the result of a call that a hook of the user did not let through."""
NO_COWORKER, COWORKER_FAILED = "Error executing tool. coworker mentioned not found", "Error executing task with agent '"
"""How CrewAI begins the result of a delegation to nobody, and of one to a coworker that failed, which is the coworker's failure."""

Said = TypeVar("Said")


class Run:
    """An attempt of one agent at one task. Threads may share it: tools run side by side.

    `key` is CrewAI's id of the task, or of the agent where `agent.kickoff()` has no task; `agent_id` is that of the agent who acts. What is
    retrieved is retrieved once, however often a guardrail sends the agent back; the episode begins then, else at the first step, else at the end.
    """

    def __init__(
        self, practice: Practice, *, agent: str, task: str, key: str, agent_id: str | None, is_task: bool = True
    ) -> None:
        self.practice = practice
        self.agent = agent
        self.task = task
        self.key = key
        self.agent_id = agent_id
        self.is_task = is_task
        self.is_open = True
        self.error: str | None = None
        self.user = practice.user()
        self._found: MemorySlice | None = None
        self._shown: MemorySlice | None = None
        self._episode: Episode | None = None
        self._may_learn = True
        self._is_approved: bool | None = None
        self._failures: dict[tuple[str, str], str] = {}
        self._lock = threading.RLock()
        practice.open_runs.add(self)

    def recalled(self, show: Callable[[MemorySlice], tuple[MemorySlice, str]]) -> tuple[MemorySlice, str]:
        """What matters for the task, as far as it is shown, and the notes that `show` makes of it."""
        with self._lock:
            if self._found is None:
                self._found = self.practice.retrieve(self.task, self.agent, user_id=self.user)
            shown, notes = show(self._found)
            if self._shown is None:
                self._shown = shown
                self._begun()
            return shown, notes

    def take(self, event: object) -> None:
        """Keeps what an event says about how the work goes, if it is this run's."""
        with self._lock:
            match event:
                case _ if not self.is_open or not self._is_own(event):
                    return
                case ToolFailureDetectedEvent():
                    self._take_failure(event)
                case ToolUsageFinishedEvent() if event.failure is None:
                    self._take_result(event)
                case LLMGuardrailCompletedEvent():
                    self._is_approved = event.success

    def observe(self, answer: str) -> None:
        """Looks for citations in an answer, accepted or not."""
        with self._lock:
            if self.is_open and self._shown is not None and (episode := self._begun()) is not None:
                episode.observe(answer)

    def complete(self, answer: str) -> EpisodeRecord | None:
        """Ends it with what an evaluator or a guardrail said of the answer; where neither did, failed tools make it partial."""
        with self._lock:
            self._close()  # what an evaluator does is no step of this
            judged, reason = self._asked(lambda: self.practice.judged(self.task, answer)) or (None, None)
            outcome = judged or self._verdict()
            error = "\n".join(dict.fromkeys(self._failures.values()))
            return self._end(outcome, answer, error=None if outcome is Verdict.SUCCESS else error or None, feedback=reason)

    def fail(self, error: str | None) -> EpisodeRecord | None:
        """Ends it as a failure. A strategy is blamed for what a guardrail rejects; not for a model that is overloaded, nor twice for a tool."""
        with self._lock:
            return self._end(Verdict.FAILURE, "", error=error or self.error, blames_strategy=self._is_approved is False)

    def abandon(self, reason: str) -> None:
        """Ends it without a verdict."""
        with self._lock:
            self._close()
            if self._episode is not None:
                self._episode.abandon(reason)

    def _is_own(self, event: object) -> bool:
        """Whether it is about this task; where an event names none, about this agent. A tool or a guardrail may have started another."""
        task, agent = getattr(event, "task_id", None), getattr(event, "agent_id", None)
        return task == self.key if task else agent is None or str(agent) == self.agent_id

    def _take_failure(self, event: ToolFailureDetectedEvent) -> None:
        if event.tool_name not in OWN_TOOLS:
            self._failed(event.tool_name, event.tool_args, event.failure.as_agent_message())

    def _failed(self, tool: str, arguments: object, error: str) -> None:
        action = self.practice.action(tool, arguments)
        if (action, error) in self._failures:
            return
        self._failures[action, error] = error
        if (episode := self._begun()) is not None:
            episode.step(action, ok=False, error=error, tool=tool)

    def _take_result(self, event: ToolUsageFinishedEvent) -> None:
        output, is_delegated = str(event.output).strip(), event.tool_name in DELEGATING
        if is_delegated and output.startswith(NO_COWORKER):
            self._failed(event.tool_name, event.tool_args, output)
            return
        if event.tool_name in OWN_TOOLS or (episode := self._begun()) is None:
            return
        took = (event.finished_at - event.started_at).total_seconds() * 1000
        is_open = output.startswith(BLOCKED) or (is_delegated and output.startswith(COWORKER_FAILED))
        episode.step(
            self.practice.action(event.tool_name, event.tool_args),
            ok=None if is_open else True,
            output=None if is_delegated else output,
            duration_ms=max(took, 0),
            tool=event.tool_name,
        )

    def _verdict(self) -> Verdict:
        if self._is_approved:
            return Verdict.SUCCESS
        return Verdict.PARTIAL if self._failures else Verdict.UNVERIFIED

    def _end(
        self, outcome: Verdict, answer: str, *, error: str | None, feedback: str | None = None, blames_strategy: bool = True
    ) -> EpisodeRecord | None:
        self._close()
        if (episode := self._begun()) is None:
            return None
        way = self._asked(lambda: self.practice.strategy(answer, episode.steps)) if blames_strategy else None
        return episode.end(outcome, strategy=way, error=error, feedback=feedback)

    def _close(self) -> None:
        self.is_open = False
        self.practice.open_runs.discard(self)

    def _asked(self, question: Callable[[], Said]) -> Said | None:
        """The answer of code that the user gave; `None` if it fails, which is reported."""
        try:
            return question()
        except Exception as problem:  # noqa: BLE001 - whatever it is, the attempt is recorded
            self.practice.report(problem)
            return None

    def _begun(self) -> Episode | None:
        """The episode, begun if it was not yet; `None` if this agent may not learn from this task."""
        if self._episode is None and self._may_learn:
            nothing = MemorySlice(query=self.task, agent=self.agent, project_id=self.practice.alma.project_id)
            shown = nothing if self._shown is None else self._shown
            try:
                self._episode = self.practice.begin(self.task, self.agent, user_id=self.user, memories=shown)
            except ScopeViolationError:
                self._may_learn = False
        return self._episode
