"""What the classes of this package share: one ALMA, one agent, and the care that memory never breaks the agent."""

import asyncio
import inspect
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from langchain_core.tools import BaseTool

from alma import ALMA, Episode, MemorySlice
from alma.errors import ConflictError, MemoryNotFoundError
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_name
from alma_langchain.attempt import Attempt, kept_task
from alma_langchain.choices import ToolUse, choices_of, used
from alma_langchain.run import FinishedRun, RunReport
from alma_langchain.scope import Scope
from alma_langchain.settings import RunContext, Settings

_LOG = logging.getLogger("alma")
_MOST_ERRORS = 100
_MOST_GONE_ON = 10_000

R = TypeVar("R")


class Recorder:
    """Follows the runs of one agent. `errors` has the last errors of ALMA itself, `last_run` what was taken from the run that ended last."""

    def __init__(self, alma: ALMA, agent: str, settings: Settings) -> None:
        self.alma = checked_alma(alma)
        self.agent = checked_name(agent, "agent")
        self.settings = settings
        self.scope = Scope(alma, user_id=settings.user_id, tenant_id=settings.tenant_id)
        self._consequence = " (the agent goes on)" if settings.on_error == "log" else ""
        self.errors: deque[Exception] = deque(maxlen=_MOST_ERRORS)
        self.last_run: RunReport | None = None
        self._live: dict[str, Attempt] = {}
        self._after: OrderedDict[str, str] = OrderedDict()  # the episode that goes on, by the one that it goes on after
        self._choices: dict[str, tuple[BaseTool, dict[str, list[Any]]]] = {}
        self._has_said_unseen = False
        self._lock = threading.RLock()

    def project(self, context: RunContext) -> ALMA:
        """The memory that a run belongs to."""
        return self.scope.project(context)

    def retrieve(self, task: str, context: RunContext) -> MemorySlice:
        """What is found for a task of that run."""
        said = kept_task(self.settings.told(task))
        found = self.project(context).retrieve(
            task=said, agent=self.agent, top_k=self.settings.top_k, user_id=self.scope.user(context)
        )
        if (least := self.settings.min_score) is None:
            return found
        return found.model_copy(update={"recalled": tuple(item for item in found.recalled if item.score >= least)})

    def follow(
        self, task: str, context: RunContext, *, memories: Callable[[], MemorySlice] | None = None, has_hooks: bool = False
    ) -> Attempt:
        """A run on a task, whose episode begins when it is needed. `memories` gives what is shown; by default that is what its prompt says."""
        said = kept_task(self.settings.told(task))

        def begin() -> Episode:
            shown, attempt.prompt = (memories(), "") if memories else self.showing(self.retrieve(task, context))
            return self._new(said, context, shown)

        attempt = Attempt(self, begin, task=said, has_hooks=has_hooks)
        return attempt

    def showing(self, found: MemorySlice) -> tuple[MemorySlice, str]:
        """What of it has room in the prompt, for nobody may be said to have passed over what was left out, and what the prompt says."""
        return found.fitted(self.settings.max_tokens)

    def nothing_shown(self, context: RunContext) -> MemorySlice:
        """The slice of a run that was shown nothing."""
        return MemorySlice(agent=self.agent, project_id=self.project(context).project_id)

    def going_on(self, episode_id: str) -> Attempt | None:
        """The run of an episode, if it goes on here."""
        return self._live.get(episode_id)

    def resumed(self, episode_id: str, task: str, context: RunContext, *, has_hooks: bool) -> Attempt:
        """The run of an episode: the one that goes on, or taken up again where it was interrupted, perhaps in another process."""
        with self._lock:
            if (live := self._live.get(episode_id)) is None:
                live = Attempt(self, lambda: self._taken_up(episode_id, task, context), task=task, has_hooks=has_hooks)
                self.keep(episode_id, live)
            return live

    def _taken_up(self, episode_id: str, task: str, context: RunContext) -> Episode:
        """The episode that goes on; a new one, if it has ended (after an error, or when an older checkpoint is gone back to), or if its process
        died before anything of it was written.
        """
        project = self.project(context)
        try:
            return project.resume_episode(self._after.get(episode_id, episode_id))
        except (ConflictError, MemoryNotFoundError):
            begun = self._new(task, context, self.nothing_shown(context))
        self._after[episode_id] = begun.id
        while len(self._after) > _MOST_GONE_ON:
            self._after.popitem(last=False)
        return begun

    def _new(self, task: str, context: RunContext, shown: MemorySlice) -> Episode:
        user = self.scope.user(context)
        return self.project(context).episode(
            agent=self.agent, task=task, user_id=user, task_type=self.settings.task_type, memories=shown, deferred=True
        )

    def keep(self, episode_id: str, attempt: Attempt) -> None:
        """Keeps a run findable by its episode, as long as it goes on."""
        with self._lock:
            attempt.key = episode_id
            self._live[episode_id] = attempt

    def drop(self, attempt: Attempt) -> None:
        """Forgets a run that is over."""
        with self._lock:
            if attempt.key is not None:
                self._live.pop(attempt.key, None)

    def use(self, tool: BaseTool | None, name: str, arguments: Mapping[str, Any]) -> ToolUse:
        """A call of a tool, by what the tool lists; its schema is read once."""
        choices: dict[str, list[Any]] = {}
        with self.guard("the schema of a tool was not read"):
            known = self._choices.get(name)
            if tool is not None and (known is None or known[0] is not tool):
                known = self._choices[name] = tool, choices_of(tool)
            choices = known[1] if known and tool is not None else {}
        return used(name, arguments, choices)

    @property
    def live(self) -> int:
        """How many runs go on."""
        return len(self._live)

    def end(self, attempt: Attempt, run: FinishedRun) -> None:
        """Judges a run and ends it; `unverified`, too, if the evaluator fails."""
        judgement = None
        try:
            judgement = self._judgement(attempt, run)
        finally:
            attempt.end(run, judgement)

    async def aend(self, attempt: Attempt, run: FinishedRun) -> None:
        """As `end`; what can be awaited is awaited in this loop."""
        judgement = None
        try:
            with self.guard("a run could not be judged", attempt):
                judgement = await self._ajudgement(run)
        finally:
            await asyncio.to_thread(attempt.end, run, judgement)

    def report(self, report: RunReport) -> None:
        """Says what was taken from a run: in `last_run` and in one line of the log."""
        self.last_run = report
        _LOG.info("run of %s: %s", report.agent, report)

    def say_unseen(self) -> None:
        """Says once that the notes are lost on the way to the model."""
        if not self._has_said_unseen:
            self._has_said_unseen = True
            _LOG.warning(
                "the notes did not reach the model: another middleware wrote the prompt anew; use split(), its second part last"
            )

    @contextmanager
    def guard(self, what: str, attempt: Attempt | None = None) -> Iterator[None]:
        """Contains an error of ALMA: kept in `errors`, told once a run, and raised only if that was asked for."""
        try:
            yield
        except Exception as error:
            self.errors.append(error)
            if attempt is None or not attempt.has_warned:
                _LOG.warning("%s: %s: %s%s", what, type(error).__name__, error, self._consequence)
            if attempt is not None:
                attempt.has_warned = True
            if self.settings.on_error == "raise":
                raise

    def _judgement(self, attempt: Attempt, run: FinishedRun) -> Any:
        judgement = None
        if self.settings.outcome_from is not None:
            with self.guard("a run could not be judged", attempt):
                said = self.settings.outcome_from(run)
                judgement = _awaited(said) if inspect.isawaitable(said) else said
        return judgement

    async def _ajudgement(self, run: FinishedRun) -> Any:
        judge = self.settings.outcome_from
        if judge is None:
            return None
        said = judge(run) if inspect.iscoroutinefunction(judge) else await asyncio.to_thread(judge, run)
        return await said if inspect.isawaitable(said) else said


def _awaited(said: Awaitable[Any]) -> Any:
    """What comes of something to await, where nothing can be awaited: in a loop and a thread of its own, for here one may be running."""

    async def wait() -> Any:
        return await said

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, wait()).result()
