"""`Run`: one run of a framework's agent, recorded as an episode for each agent that takes part."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from alma import Episode
from alma.episode import exposures, leaving
from alma.errors import ScopeViolationError, StorageError
from alma.text import storable
from alma.types.prompt import without_notes
from alma.types.slice import MemorySlice
from alma.types.strategies import TRIED
from alma.types.tags import cited_of, is_of_way, without_citations
from alma_integration.calls import ToolUse
from alma_integration.context import RunContext
from alma_integration.credit import ToolStep
from alma_integration.ending import aend_run, end_in_background, end_run
from alma_integration.parts import Part, end_of, holding, tags_in, together
from alma_integration.steps import record_call, record_correction, record_result, take_back
from alma_integration.views import RunReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alma_integration.kit import Integration

TASK_CHARS = 2_000
TEXT_CHARS = 2_000
T = TypeVar("T")


class Run:
    """One run of an agent, from its task to its end. Threads may share it.

    A framework's events are reported in any thread and cost no I/O: `model_said`, `tool_returned`, `tool_raised`, `corrected`,
    `hand_over`. `settle` writes them in order; the adapter calls it where it may wait. `end` judges and records the run, `suspend` keeps
    it for later. No error of ALMA leaves these methods, unless the options say `on_error="raise"`.
    """

    def __init__(
        self,
        integration: "Integration",
        *,
        task: str,
        agent: str,
        context: RunContext | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
        resumes: str | None = None,
    ) -> None:
        self.integration = integration
        self.options = integration.options
        self.context = context or RunContext()
        self.run_id = run_id
        self.thread_id = thread_id
        self.task = task_of(task)
        self.is_over = False
        self.report: RunReport | None = None
        """Report of the run once it has ended; `None` where it was not recorded."""
        self.is_judging = integration.is_working()
        """True when it is part of an evaluator's work. Such a run is recorded, but not judged itself, which would not end."""
        self.has_warned = False
        self.saw_notes: bool | None = None
        """True when a model was shown the notes; `None` where no adapter checks, see `model_asked`."""
        self.keys: set[str] = set()
        """Ids of episodes under which the integration has registered it while it is live."""
        self.parts: dict[str, Part] = {agent: Part(agent, self.task, resumes=resumes, lacks_steps=resumes is not None)}
        self.taken: list[ToolStep] = []
        self.cited: dict[str, None] = {}
        self.lock = threading.RLock()
        self.is_ending = False
        self._is_leaving = self._is_suspended = False
        self._coming: deque[Callable[[], None]] = deque()
        self._turns = threading.RLock()
        self._speaking = agent

    @property
    def agent(self) -> str:
        """The agent that the run began with."""
        return next(iter(self.parts))

    @property
    def speaking(self) -> str:
        """Agent whose turn it is."""
        return self._speaking

    @property
    def memories(self) -> MemorySlice:
        """Memories shown to the agent whose turn it is."""
        return self._part.shown

    @property
    def notes(self) -> str:
        """Notes for its prompt; "" if there are none."""
        return self._part.notes

    @property
    def episode(self) -> Episode | None:
        """Episode of the agent whose turn it is, begun now if necessary; `None` if that failed."""
        return self.begun(self._part)

    @property
    def episode_id(self) -> str | None:
        """Id of the first agent's episode; `None` before it began."""
        part = self.parts[self.agent]
        return part.resumes if part.episode is None else part.episode.id

    @property
    def steps(self) -> tuple[ToolStep, ...]:
        """Tool calls recorded so far, of all agents."""
        return tuple(self.taken)

    @property
    def _part(self) -> Part:
        return self.parts[self._speaking]

    # What is shown.

    def recall(self) -> str:
        """Looks up what matters for the task, once for each agent, and returns the notes for its prompt. With `inject="none"` there are
        none, and nothing is looked up."""
        part = self._part
        if self._is_recalled(part):  # avoids the lock, which a waiting write may hold
            return part.notes
        with self.lock:
            if part.memories is None:
                found = MemorySlice()
                with self.integration.guard("memory could not be read", self):
                    found = self._unshown(part, self.integration.retrieve(part.task, part.agent, self.context))
                self.show(found)
            return part.notes

    async def arecall(self) -> str:
        """As `recall`, in another thread unless the notes are known."""
        part = self._part
        return part.notes if self._is_recalled(part) else await asyncio.to_thread(self.recall)

    def show(self, memories: MemorySlice) -> str:
        """Sets the memories that the agent is shown. Returns the notes, with those memories that fit."""
        with self.lock:
            part = self._part
            with self.integration.guard("notes could not be written", self):
                part.memories, part.notes = memories.fitted(self.options.max_tokens)
            return part.notes

    def show_beside(self, memories: MemorySlice) -> None:
        """Adds memories that the agent is shown besides the notes, by a retriever for example. They can be cited, and `recall` leaves
        them out.

        Their tags must differ from those of the notes, see `tag_beside`. Those that were shown after the episode began count if they are
        cited. Those that were retrieved for another agent or in another project, as by a retriever of a common knowledge base, never do.
        """
        with self.lock:
            part = self._part
            if memories.agent != part.agent or memories.project_id != self.integration.scope.project(self.context).project_id:
                return
            known = {*part.shown.ids, *(way.id for way in part.shown.strategies)}
            ways = tuple(way for way in memories.strategies if way.id not in known)
            new = holding(memories, (item for item in memories.recalled if item.memory.id not in known))
            new = new.model_copy(update={"strategies": ways})
            part.beside = together(part.beside, new)
            if part.has_begun:
                part.late = together(part.late, new)

    # What happens.

    def model_asked(self, texts: Iterable[str]) -> None:
        """Checks that the texts a model is asked contain the notes: a prompt need not include them, and another part may rewrite it."""
        if self.notes and not self.saw_notes:
            self.saw_notes = any(self.notes in text for text in texts)

    def model_said(self, *said: object) -> None:
        """Finds citations in what the model said: in its texts, and in the arguments of its calls. Finds none if it was not shown the
        notes."""
        with self.integration.guard("what a model said was not read", self):
            text = "\n".join(str(each) for each in said if each is not None)
            if text and self.saw_notes is not False:
                self._soon(partial(self.observe, self._part, text))

    def tool_returned(self, use: ToolUse, result: Any, *, seconds: float | None = None, ok: bool | None = None) -> None:
        """Records a tool call that returned a result, which may report a failure. `ok` is the framework's own verdict, if it has one."""
        self._soon(partial(record_result, self, self._part, use, result, seconds, ok))

    def tool_raised(self, use: ToolUse, error: BaseException, *, seconds: float | None = None) -> None:
        """Records a tool call that raised. An exception that says nothing about the tool, such as a cancellation, is no step."""
        left = leaving(error)
        if left.outcome is not None:
            self.tool_failed(use, left.error or type(error).__name__, seconds=seconds)

    def tool_failed(self, use: ToolUse, error: str, *, seconds: float | None = None, may_be_known: bool = False) -> None:
        """Records a tool call that failed with this text. With `may_be_known` not again, if it was recorded before the run was resumed: for
        calls that are read from a history."""
        self._soon(partial(record_call, self, self._part, use, False, None, error, seconds, True, may_be_known=may_be_known))

    def tool_refused(self, use: ToolUse, reason: str = "", *, may_be_known: bool = False) -> None:
        """Records a tool call that a person, a hook or a limit refused. It is no evidence on whether the call works. `may_be_known` as for
        `tool_failed`."""
        refused = partial(record_call, self, self._part, use, None, reason or None, None, None, False, may_be_known=may_be_known)
        self._soon(refused)

    def corrected(self, reason: str) -> None:
        """Records that a guardrail, a person or a test sent the agent back, and why. The next run on such a task is shown the reason."""
        self._soon(partial(record_correction, self, self._part, reason))

    def for_user(self, answer: str) -> str:
        """Returns a final answer as its user receives it: with `strip_tags` without citations of what the agent was shown."""
        tags = tags_in(self.memories) if self.options.strip_tags else []
        return without_citations(answer, tags) if tags else answer

    def hand_over(self, agent: str, task: str | None = None) -> None:
        """Hands the run to another agent, which alone is credited with what it does."""
        self.parts.setdefault(agent, Part(agent, task_of(task) if task else self.task))
        self._speaking = agent

    @contextmanager
    def turn_of(self, agent: str) -> "Iterator[None]":
        """Credits what is reported in the block to this agent, as `hand_over` does. For agents that act at the same time: their blocks take
        turns."""
        with self._turns:
            self.hand_over(agent)
            yield

    # Writing.

    def settle(self) -> None:
        """Writes all reported events in order, even if one of them fails. Raises the last error, if errors are raised."""
        problem: Exception | None = None
        with self.lock:
            while self._coming:
                try:
                    self._coming.popleft()()
                except Exception as error:  # noqa: BLE001 - raised below
                    problem = error
        if problem is not None:
            raise problem

    async def asettle(self) -> None:
        """As `settle`, in another thread; it completes even if the caller is cancelled."""
        if self._coming:
            await asyncio.shield(asyncio.to_thread(self.settle))

    def settle_soon(self) -> None:
        """As `settle`, in the background."""
        if self._coming:
            self.in_background(self.settle)

    # Ending.

    def end(self, answer: str = "", **how: Any) -> RunReport | None:
        """Judges the run and records it. `how` are the fields of `End`, and further ones of the `RunView`."""
        return end_run(self, end_of(answer, how))

    async def aend(self, answer: str = "", **how: Any) -> RunReport | None:
        """As `end`: writes in another thread, and awaits an evaluator that is a coroutine function in this loop."""
        return await aend_run(self, end_of(answer, how))

    def end_soon(self, answer: str = "", **how: Any) -> None:
        """As `end`, in the background. The evaluator runs on a pool of its own, so that it delays no other run."""
        self.in_background(partial(end_in_background, self, end_of(answer, how)))

    def fail(self, error: BaseException, **how: Any) -> RunReport | None:
        """Ends the run by its exception: a failure, or abandoned where the exception says nothing, as a cancellation does."""
        report: RunReport | None = None
        with noted_on(error):
            report = self.end("", error=error, **how)
        return report  # noqa: RET504 - None where the end was not recorded

    def abandon(self, reason: str = "") -> None:
        """Ends it without a verdict."""
        self.end("", is_neutral=True, reason=reason or None)

    def discard(self) -> None:
        """Drops the run and its unwritten events, for example of a rehearsal from which nothing should be learned."""
        with self.lock:
            self.is_over = True
            self._coming.clear()
            self.integration.drop(self)

    def suspend(self) -> None:
        """Keeps the run for any process to resume, after an interrupt that waits for a person, for example."""
        with self.lock, self.integration.guard("a run that was interrupted could not be kept open", self):
            self.settle()
            if self.is_over:
                return
            self.is_over = self._is_suspended = True
            self.integration.drop(self)
            for part in tuple(self.parts.values()):
                if part.episode is not None and not part.is_given_up:
                    self.written(part, part.episode.suspend)

    def suspend_soon(self) -> None:
        """As `suspend`, in the background, unless the run is resumed first."""
        self._is_leaving = True
        self.in_background(self._leave)

    def take_up(self) -> None:
        """Continues after `suspend` in the same process, where its memories and steps are still known."""
        self._is_leaving = False
        with self.lock:
            if not self._is_suspended:
                return
            self.is_over = self._is_suspended = self.is_ending = False
            suspended = [part for part in tuple(self.parts.values()) if part.episode is not None and not part.episode.is_open]
            for part in suspended:
                part.resumes, part.episode, part.has_begun = part.episode.id, None, False  # type: ignore[union-attr]  # it has one

    # Inside.

    def _leave(self) -> None:
        with self.lock:
            if self._is_leaving:
                self.suspend()

    def _is_recalled(self, part: Part) -> bool:
        return part.memories is not None or self.options.inject == "none"

    def _unshown(self, part: Part, found: MemorySlice) -> MemorySlice:
        """Returns the memories to show: without those shown beside, and for a resumed run only those that it was shown before."""
        beside = {way.id for way in part.beside.strategies}
        kept = tuple(item for item in found.recalled if item.memory.id not in part.beside.ids)
        ways = tuple(way for way in found.strategies if way.id not in beside)
        episode = self.begun(part) if part.resumes is not None else None
        if episode is not None and episode.record.shown:
            tags = {exposure.memory_id: exposure.tag for exposure in episode.record.shown}
            of_ways = {memory_id: tag for memory_id, tag in tags.items() if is_of_way(tag)}
            kept = tuple(
                item.model_copy(update={"tag": tags[item.memory.id]})
                for item in kept
                if item.memory.id in tags.keys() - of_ways.keys()
            )
            ways = tuple(
                way.model_copy(update={"tag": of_ways.get(way.id)}) for way in ways if way.rule != TRIED or way.id in of_ways
            )
        return holding(found.model_copy(update={"strategies": ways}), kept)

    def _soon(self, call: Callable[[], None]) -> None:
        if not self.is_over:
            self._coming.append(call)

    def in_background(self, call: Callable[[], Any]) -> None:
        backlog = self.integration.writes
        backlog.started()

        def work() -> None:
            try:
                call()
            except Exception:  # noqa: BLE001, S110 - the guard has kept it, and there is no caller to raise it to
                pass
            finally:
                backlog.done()

        self.integration.writer.submit(work)

    def begun(self, part: Part) -> Episode | None:
        """Returns the episode of a part, begun now if necessary; `None` if that or a write failed."""
        with self.lock:
            if not part.has_begun and not self.is_over:
                part.has_begun = True
                with self.integration.guard("an episode could not begin", self):
                    try:
                        part.episode = self.integration.begin(self, part)
                        take_back(self, part, part.episode)
                    except ScopeViolationError as refused:  # refused by its scope of learning: not an error
                        self.integration.warn_once(f"runs are not recorded: {refused}")
                        return None
                    if part.agent == self.agent:
                        self.integration.keep(self)
            return None if part.is_given_up else part.episode

    def observe(self, part: Part, text: str) -> None:
        """Finds citations in a text of the agent. They are stored with its next step."""
        with self.integration.guard("citations were not read", self):
            if (part.shown or part.resumes) and (episode := self.begun(part)) is not None:
                cited = set(episode.observe(text))
                tags = [shown.tag for shown in episode.record.shown if shown.memory_id in cited]
                late = {shown.tag: shown.memory_id for shown in exposures(part.late)}
                if named := cited_of(late, text):
                    episode.used(late[tag] for tag in named)
                self.cited |= dict.fromkeys([*tags, *sorted(named)])

    def written(self, part: Part, call: Callable[[], T], *, is_last: bool = False) -> T | None:
        """Makes a write, unless one failed before. A run waits for another writer once, and once more for its end if it was begun."""
        if part.is_given_up and not is_last:
            return None
        try:
            with self.integration.waiting():
                return call()
        except StorageError:
            if self.options.on_error == "log":
                for each in tuple(self.parts.values()):
                    each.is_given_up = True
            raise

    def stored(self, text: str | None) -> str | None:
        """Returns a text in the form to store: redacted, and of at most 2,000 characters."""
        return None if text is None else storable(self.integration.stored(text), TEXT_CHARS) or None


def task_of(given: str) -> str:
    """Returns a task in the form to store: without notes of other memories, and of at most 2,000 characters."""
    return storable(without_notes(given), TASK_CHARS)


@contextmanager
def noted_on(error: BaseException) -> "Iterator[None]":
    """Makes sure that the agent's own error is raised: an error of ALMA becomes a note on it."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - it becomes a note
        error.add_note(f"ALMA did not record this: {type(problem).__name__}: {problem}")
