"""One run of an agent, told to ALMA as one episode."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from alma import Episode, MemorySlice
from alma.episode import leaving
from alma.errors import StorageError, ValidationError
from alma.text import quoted, storable
from alma.types import EpisodeRecord
from alma_langchain.choices import ToolUse
from alma_langchain.reading import TASK_CHARS, tool_error
from alma_langchain.run import FinishedRun, RunReport

if TYPE_CHECKING:
    from alma_langchain.recorder import Recorder


class Attempt:
    """A run that is followed. Its episode begins when it is first needed. Threads may share it.

    An error of ALMA is contained by the recorder; if the episode could not begin, or its first write fails, the run goes on without one. After the
    end nothing is taken.
    """

    def __init__(self, recorder: "Recorder", begin: Callable[[], Episode], *, task: str, has_hooks: bool = False) -> None:
        self.recorder = recorder
        self.task = task
        self.has_hooks = has_hooks
        """Whether hooks tell its steps, so that callbacks need not."""
        self.is_tentative = False
        """Whether it gives way to middleware or memory of the same agent."""
        self.is_listened_to = False
        """Whether callbacks tell of it."""
        self.is_interrupted = False
        self.is_over = False
        self.has_warned = False
        self.key: str | None = None
        """The id by which the recorder finds it: of its episode, or of the one that it goes on after."""
        self.calls: set[str] = set()
        """The ids of the tool calls that are settled: recorded, or refused before they were made."""
        self.made: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """The tool and the arguments by which a call was made at last, by its id: middleware may change what the model asked for."""
        self.prompt = ""
        """What the memories that were found say, once it has begun; "" where they were given, or none were asked for."""
        self.notes = ""
        """What is to stand in its prompts."""
        self.is_told: bool | None = None
        """Whether that stood in anything that a model was asked; `None` before one was asked."""
        self._begin: Callable[[], Episode] | None = begin
        self._episode: Episode | None = None
        self._said: list[str] = []
        self._coming: deque[Callable[[], None]] = deque()
        self._failure: BaseException | None = None
        self._lock = threading.RLock()

    @property
    def has_begun(self) -> bool:
        """Whether it has an episode."""
        return self._episode is not None

    @property
    def episode(self) -> Episode | None:
        """Its episode, begun now if it was not yet; `None` if that or its first write failed, or if the run is over before it began."""
        with self._lock:
            if self._begin is not None and not self.is_over:
                begin, self._begin = self._begin, None
                with self.recorder.guard("an episode could not begin", self):
                    self._episode = begin()
                    if self.key is None:
                        self.recorder.keep(self._episode.id, self)
                    for said in self._said:
                        self._episode.observe(said)
            return self._episode

    @property
    def memories(self) -> MemorySlice:
        """What was shown at its beginning."""
        return self.episode.memories if self.episode else MemorySlice()

    def soon(self, record: Callable[[], None]) -> None:
        """Takes what is to be recorded, without waiting. `settle` does it, or the end of the run if that overtakes it in another thread."""
        self._coming.append(record)

    def settle(self) -> None:
        """Records all that was taken, whatever becomes of the first; the last error is raised."""
        problem: Exception | None = None
        with self._lock:
            while self._coming:
                try:
                    self._coming.popleft()()
                except Exception as error:  # noqa: BLE001 - raised below
                    problem = error
        if problem is not None:
            raise problem

    def tool_returned(self, use: ToolUse, result: Any, seconds: float, call_id: str | None) -> None:
        """Records a tool call that gave a result, which may say that it went wrong."""
        ok: bool | None = None
        with self.recorder.guard("the outcome of a tool could not be judged", self):
            ok = self.recorder.settings.tool_outcome_from(use.name, result)
        error = tool_error(result) or "it reported an error" if ok is False else None
        self._step(use, ok, error, seconds, call_id)

    def tool_raised(self, use: ToolUse, error: BaseException, seconds: float, call_id: str | None) -> None:
        """Records a tool call that ended by an exception. One that says nothing about the tool, such as cancellation, is no step."""
        left = leaving(error)
        if left.outcome is not None:
            self._failure = error
            with _noted_on(error):
                self._step(use, False, left.error, seconds, call_id)

    def observe(self, text: str) -> None:
        """Finds citations in what the model said; later, if the episode has not begun. None, if it was never told the notes."""
        with self._lock, self.recorder.guard("citations were not read", self):
            if not text or self.is_over or self.is_told is False:
                return
            if self._begin is not None:
                self._said.append(text)
            elif self._episode is not None:
                self._episode.observe(text)

    def finished(self, **found: Any) -> FinishedRun:
        """The run as an evaluator sees it."""
        steps = self.episode.steps if self.episode else ()
        return FinishedRun(agent=self.recorder.agent, task=self.task, steps=steps, memories=self.memories, **found)

    def end(self, run: FinishedRun, judgement: Any = None) -> None:
        """Ends it by what an evaluator said; `unverified` if it said nothing."""

        def close(episode: Episode) -> EpisodeRecord:
            self._name_used(episode, run)
            outcome, feedback = verdict_and_reason(judgement)
            strategy = self._told(self.recorder.settings.strategy_from(run))
            said = "unverified" if outcome is None else outcome
            return episode.end(said, strategy=strategy, feedback=self._told(feedback))

        self._close(close)

    def leave(self, error: BaseException) -> None:
        """Ends it by the exception that ended the run: a failure, or abandoned where it says nothing, as cancellation does.

        What was done is blamed for it only if the error came from a tool: an overloaded model is no fault of a strategy.
        """
        left = leaving(error)

        def close(episode: Episode) -> EpisodeRecord:
            if left.outcome is None:
                return episode.abandon(type(error).__name__)
            is_to_blame = error is self._failure
            strategy = self._told(self.recorder.settings.strategy_from(self.finished())) if is_to_blame else None
            return episode.end(left.outcome, error=self._told(left.error), strategy=strategy)

        with _noted_on(error):
            self._close(close, is_neutral=left.outcome is None)

    def suspend(self) -> None:
        """Lets go of it, for whoever resumes the run."""
        with self._lock, self._guard("a run that was interrupted could not be kept open"):
            self.settle()
            if not self.is_over:
                self.is_over = True
                self.recorder.drop(self)
                if self._episode is not None:
                    self._episode.suspend()

    def _step(self, use: ToolUse, ok: bool | None, error: str | None, seconds: float, call_id: str | None) -> None:
        with self._lock:
            if self.is_over:
                return
            if call_id:
                self.calls.add(call_id)
            with self._guard("a step was not recorded"):
                if self.episode is not None:
                    action = self._told(self.recorder.settings.action_from(use)) or use.name
                    self.episode.step(action, ok, error=self._told(error), duration_ms=seconds * 1e3, tool=use.name)

    def _close(self, close: Callable[[Episode], EpisodeRecord], *, is_neutral: bool = False) -> None:
        with self._lock:
            if self.is_over:
                return
            try:
                self.settle()
            finally:
                episode = self._episode if is_neutral else self.episode
                self.is_over = True
                self.recorder.drop(self)
                if episode is not None:
                    self._end(episode, close)

    def _end(self, episode: Episode, close: Callable[[Episode], EpisodeRecord]) -> None:
        with self._guard("the end of a run was not recorded"):
            try:
                record = close(episode)
            except Exception as error:
                if episode.is_open and not self._is_given_up(error):
                    episode.end()
                raise
            self.recorder.report(reported(record))

    @contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        """Contains an error of a write. If it was the first, no more are tried: each would hold the agent up as long, and fail as well."""
        with self.recorder.guard(what, self):
            try:
                yield
            except Exception as error:
                if self._is_given_up(error):
                    self._episode = None
                raise

    def _is_given_up(self, error: Exception) -> bool:
        """Whether the store would not take so much as the beginning, and nobody asked to be told of every error."""
        is_unwritten = self._episode is not None and not self._episode.is_written
        return is_unwritten and isinstance(error, StorageError) and self.recorder.settings.on_error == "log"

    def _name_used(self, episode: Episode, run: FinishedRun) -> None:
        usage_from = self.recorder.settings.usage_from
        used = usage_from(run) if usage_from else None
        if used is not None:
            episode.used(used)

    def _told(self, text: str | None) -> str | None:
        return None if text is None else self.recorder.settings.told(text)


@contextmanager
def _noted_on(error: BaseException) -> Iterator[None]:
    """Keeps the agent's own error the one that is raised: what ALMA would raise beside it becomes a note on it."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - it is told where it belongs
        error.add_note(f"ALMA did not record this: {type(problem).__name__}: {problem}")


def verdict_and_reason(judgement: Any) -> tuple[Any, Any]:
    """What an evaluator said in its two parts. `ValidationError` for a tuple that is no pair."""
    if not isinstance(judgement, tuple):
        return judgement, None
    if len(judgement) != 2:
        raise ValidationError(f"an evaluator gives a verdict, or a pair of verdict and reason, not {quoted(judgement)}")
    return judgement


def kept_task(text: str) -> str:
    """A task as it is kept and searched by."""
    return storable(text, TASK_CHARS)


def reported(record: EpisodeRecord) -> RunReport:
    """What was taken from a run, by its record."""
    learned = [step.ok for step in record.steps if step.memory_id]
    return RunReport(
        episode_id=record.id,
        agent=record.agent,
        task=record.task,
        outcome=record.outcome.value if record.outcome else "abandoned",
        retrieved=len(record.shown),
        cited=tuple(exposure.tag for exposure in record.shown if exposure.used),
        failures=learned.count(False),
        successes=learned.count(True),
        steps=len(record.steps),
        summary=record.summary,
    )
