"""`Integration`: the base of an adapter, for one agent or one crew of them."""

import copy
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial

from alma import ALMA, Episode, lock_timeout
from alma.errors import ConflictError, MemoryNotFoundError
from alma.memory.alma import checked_alma, place_of, redacted
from alma.text import storable
from alma.types.recalled import Recalled
from alma.types.slice import MemorySlice
from alma_integration.bounded import Bounded
from alma_integration.context import Identity, RunContext, check_identity, identified, required
from alma_integration.narrowing import examined, narrowed, says_something, telling_first
from alma_integration.options import Options
from alma_integration.parts import Part
from alma_integration.run import Run
from alma_integration.scope import Scope
from alma_integration.views import RunReport
from alma_integration.work import JUDGING, Backlog, in_event_loop, is_working, writer_of

_LOG = logging.getLogger("alma")
MOST_ERRORS = 100
MOST_CONTINUED = 10_000
QUERY_CHARS = 2_000
FURTHER = 20
"""Number of memories of each kind that are looked through where runs were found of which nothing but their task is known."""
SETTLING_SECONDS = 2.0
JUDGING_SECONDS = 0.05
"""A retrieval waits `SETTLING_SECONDS` for writes of earlier runs, and `JUDGING_SECONDS` for their evaluators."""
LOOP_SECONDS = 0.05
"""An event loop's own thread waits for writes no longer than this: long enough for those of a store that is not locked."""


class Integration:
    """Follows the runs of agents and records them in one ALMA. Threads and event loops may share it.

    `agent` is a name, or a function of the `RunContext`. `errors` has the last errors of ALMA itself, `last_run` the report of the run
    that was recorded last; in a server, use `Options.on_run`, which names each run.
    """

    def __init__(self, alma: ALMA, *, agent: Identity = None, options: Options | None = None) -> None:
        self.alma = checked_alma(alma)
        check_identity(agent, "agent")
        self.agent = agent
        self.options = options or Options()
        self.scope = Scope(alma, user_id=self.options.user_id, tenant_id=self.options.tenant_id)
        self.errors: deque[Exception] = deque(maxlen=MOST_ERRORS)
        self._reported: deque[RunReport] = deque(maxlen=1)
        self.writer = writer_of(place_of(self.alma))
        self.writes = Backlog()
        self.verdicts = Backlog()
        self._live: dict[str, Run] = {}
        self._continued_by = Bounded[str, str](MOST_CONTINUED)  # new episode, by the id of the ended one that it continues
        self._has_said: set[str] = set()
        self._lock = threading.RLock()

    def adapted(self, *, agent: Identity, options: Options) -> "Integration":
        """Returns an integration for another agent or with other options. Both share their background work: `flush`, `errors`, `last_run`
        are the same."""
        check_identity(agent, "agent")
        other = copy.copy(self)
        other.agent, other.options = agent, options
        other.scope = Scope(self.alma, user_id=options.user_id, tenant_id=options.tenant_id)
        return other

    @property
    def last_run(self) -> RunReport | None:
        """Report of the run that was recorded last."""
        return self._reported[-1] if self._reported else None

    # Runs.

    def run(
        self,
        task: str,
        *,
        agent: str | None = None,
        context: RunContext | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
    ) -> Run:
        """Begins to follow a run. Nothing is read or written before it is needed."""
        where = context or RunContext()
        return Run(self, task=task, agent=agent or self.agent_of(where), context=where, run_id=run_id, thread_id=thread_id)

    def resumed(
        self,
        episode_id: str | None,
        task: str,
        *,
        agent: str | None = None,
        context: RunContext | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
    ) -> Run:
        """Returns the run of an episode: the live one here, or one resumed where it was suspended, perhaps by another process.

        It is a new run where there is no episode, because nothing of the run could be recorded before. A live run keeps its ids.
        """
        where = context or RunContext()
        if episode_id is None:
            return self.run(task, agent=agent, context=where, run_id=run_id, thread_id=thread_id)
        with self._lock:
            live = self._live.get(episode_id)
            is_elsewhere = live is not None and self.scope.project(live.context) != self.scope.project(where)
            if live is None or is_elsewhere:
                named = agent or self.agent_of(where)
                live = Run(self, task=task, agent=named, context=where, run_id=run_id, thread_id=thread_id, resumes=episode_id)
                if not is_elsewhere:
                    self._keep(episode_id, live)
            live.run_id, live.thread_id = live.run_id or run_id, live.thread_id or thread_id
            return live

    def abandon(self, episode_id: str, *, context: RunContext | None = None, reason: str = "") -> None:
        """Ends a suspended episode that will never be resumed, such as one that waited for a person in a thread where a new question
        came. Does nothing if it is not suspended."""
        if self.going_on(episode_id) is not None:
            return
        with self.guard("a run that nothing takes up again could not be closed"), self.waiting():
            try:
                self.scope.project(context or RunContext()).resume_episode(episode_id).abandon(reason or None)
            except (ConflictError, MemoryNotFoundError):
                return

    def going_on(self, episode_id: str) -> Run | None:
        """Returns the live run of an episode, if it is here."""
        return self._live.get(episode_id)

    @property
    def live(self) -> int:
        """Number of live runs that have begun their episode."""
        return len({id(run) for run in self._live.values()})

    def stored(self, text: str) -> str:
        """Returns a text as it may be stored: without what the option `redact` and the store itself replace."""
        return redacted(self.alma, self.options.stored(text))

    def agent_of(self, context: RunContext) -> str:
        """Returns the agent of a run. `ValidationError` if no name can be found."""
        return required(identified(self.agent, "agent", context), "agent")

    def pinned(self, context: RunContext) -> RunContext:
        """Returns the context with user, tenant and task type looked up now and in this thread, for functions that read context
        variables."""
        options = self.options
        given = {"user_id": options.user_id, "tenant_id": options.tenant_id}
        names = {name: identified(value, name, context) for name, value in given.items()}
        return replace(context, pinned={**names, "task_type": self.task_type(context)})

    # What runs ask for.

    def retrieve(
        self,
        task: str,
        agent: str,
        context: RunContext,
        *,
        top_k: int | None = None,
        include_shared: bool = True,
        kinds: Collection[str] | None = None,
        wanted: Callable[[Recalled], bool] | None = None,
    ) -> MemorySlice:
        """Returns the memories that matter for a task of that run, at most `top_k` of each kind, and only of these `kinds`.

        Without `include_shared` none that other agents share, and with `wanted` only those for which it returns True: of each kind, the
        best `10 * top_k` are examined. Runs of which nothing but their task is known only take places that others leave.
        """
        self.catch_up()
        limit = top_k or self.options.top_k
        ask = partial(
            self.scope.project(context).retrieve,
            task=storable(self.stored(task), QUERY_CHARS),
            agent=agent,
            user_id=self.scope.user(context),
            task_type=self.task_type(context),
            include_shared=include_shared,
        )
        found = ask(top_k=examined(limit, wanted))
        if wanted is None and limit < FURTHER and not all(map(says_something, found.recalled)):
            found = telling_first(ask(top_k=FURTHER), limit)
        return narrowed(found, limit=limit, min_score=self.options.min_score, kinds=kinds, wanted=wanted)

    def task_type(self, context: RunContext) -> str | None:
        """Returns the task type of the run."""
        given = self.options.task_type
        return None if given is None else identified(given, "task_type", context)

    def begin(self, run: Run, part: Part) -> Episode:
        """Begins or resumes the episode of an agent's part."""
        project = self.scope.project(run.context)
        if part.resumes is not None:
            try:
                return project.resume_episode(self._continued_by.get(part.resumes, part.resumes))
            except (ConflictError, MemoryNotFoundError):  # it ended, or its process died before any of it was stored
                begun = self._new(project, run, part)
                self._continued_by[part.resumes] = begun.id
                return begun
        return self._new(project, run, part)

    def _new(self, project: ALMA, run: Run, part: Part) -> Episode:
        task = storable(self.stored(part.task), QUERY_CHARS)
        shown = part.shown or MemorySlice(agent=part.agent, project_id=project.project_id)
        return project.episode(
            agent=part.agent,
            task=task,
            user_id=self.scope.user(run.context),
            task_type=self.task_type(run.context),
            memories=shown,
            run_id=run.run_id,
            thread_id=run.thread_id,
            deferred=True,
        )

    def keep(self, run: Run) -> None:
        """Registers a live run under its episode."""
        with self._lock:
            if run.episode_id is not None:
                self._keep(run.episode_id, run)

    def _keep(self, episode_id: str, run: Run) -> None:
        self._live.setdefault(episode_id, run)
        run.keys.add(episode_id)

    def drop(self, run: Run) -> None:
        """Removes a run that is over."""
        with self._lock:
            for key in run.keys:
                self._live.pop(key, None)

    # The background.

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything that has ended is judged and recorded. Returns whether it was, within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while len(self.writes) or len(self.verdicts):
            for backlog in (self.writes, self.verdicts):
                if not backlog.wait(None if end is None else max(end - time.monotonic(), 0.0)):
                    return False
        return True

    def catch_up(self) -> None:
        """Waits for the results of earlier runs: for writes 2 s, in the thread of an event loop 50 ms; for evaluators 50 ms."""
        patience = LOOP_SECONDS if in_event_loop() else SETTLING_SECONDS
        self.writes.wait(patience)
        if len(self.verdicts) and self.verdicts.wait(JUDGING_SECONDS):
            self.writes.wait(patience)

    def is_working(self) -> bool:
        """Returns True when the caller is part of an evaluator's work."""
        return is_working()

    def waiting(self) -> AbstractContextManager[None]:
        """Limits to `lock_timeout` seconds how long a write inside the block waits for another writer."""
        return lock_timeout(self.options.lock_timeout)

    # Errors and reports.

    @contextmanager
    def guard(self, what: str, run: Run | None = None, *, is_raised: bool = False) -> Iterator[None]:
        """Contains an error of ALMA: it is kept in `errors`, logged once a run, and raised only with `on_error="raise"`.

        With `is_raised` it is kept and raised, for callers of a memory function. An error that an inner guard has kept is not kept again.
        """
        try:
            yield
        except Exception as error:
            if not (is_raised and any(error is known for known in self.errors)):
                self._keep_error(what, error, run)
            if is_raised or self.options.on_error == "raise":
                raise

    def _keep_error(self, what: str, error: Exception, run: Run | None) -> None:
        self.errors.append(error)
        if run is None or not run.has_warned:
            goes_on = " (the agent goes on)" if self.options.on_error == "log" else ""
            _LOG.warning("%s: %s: %s%s", what, type(error).__name__, error, goes_on)
        if run is not None:
            run.has_warned = True

    def warn_once(self, message: str) -> None:
        """Logs a warning once in the life of this integration: what could not be recorded, and what to set."""
        with self._lock:
            if message in self._has_said:
                return
            self._has_said.add(message)
        _LOG.warning("%s", message)

    def report(self, report: RunReport, run: Run) -> None:
        """Publishes the report of a run: in `last_run`, by `on_run`, and in one line of the log."""
        self._reported.append(report)
        _LOG.info("run of %s: %s", report.agent, report)
        if self.options.on_run is None:
            return
        if not is_working():
            self._call_on_run(report, run)
            return
        self.verdicts.started()  # not in the writer's thread, which others wait for

        def call() -> None:
            try:
                self._call_on_run(report, run)
            finally:
                self.verdicts.done()

        JUDGING.submit(call, is_marked=False)

    def _call_on_run(self, report: RunReport, run: Run) -> None:
        with self.guard("on_run failed", run):
            if self.options.on_run is not None:
                self.options.on_run(report)


class Learning:
    """Common base of the classes that users hold and that learn from runs. `_integration` records for them."""

    _integration: Integration

    @property
    def errors(self) -> list[Exception]:
        """The last errors of ALMA itself, oldest first."""
        return list(self._integration.errors)

    @property
    def last_run(self) -> RunReport | None:
        """Report of the run that was recorded last. In a server use `on_run`, which names each run."""
        return self._integration.last_run

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all runs that have ended are judged and recorded. Returns whether they are, within `timeout` seconds."""
        return self._integration.flush(timeout)
