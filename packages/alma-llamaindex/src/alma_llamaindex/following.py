"""Translates LlamaIndex's spans of a run into calls of `alma.integration.Run`."""

import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import BoundArguments
from typing import Any
from weakref import WeakValueDictionary

from llama_index.core.tools import BaseTool, ToolOutput

from alma import ALMA, MemorySlice
from alma_integration import Integration, Run, RunContext, schema_of, tag_beside, together, tool_use
from alma_llamaindex import spans
from alma_llamaindex.spans import Kind

EPISODES = "alma_episodes"
"""Key of a run's episodes, by project, in the store of a workflow's context."""
MEMORY = "alma_memory"
"""Key of a name of the run's memory there. LlamaIndex does not keep the memory itself for the next run of the context."""
MEMORIES: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""The memories that are alive, by these names."""
CUT_SHORT = "the run was cut short"

Call = tuple[str, object, ToolOutput | BaseException, float]
"""A call of a tool: name, arguments, result, seconds."""


@dataclass(slots=True)
class Line:
    """The record of a run in one project. `agent` names the run's first agent; with `names`, only the parts of these agents count.

    `owner` is the object that connected the run to the project. `is_ended_here` is false for a run that a harness began and ends.
    """

    run: Run
    agent: str
    names: frozenset[str] | None = None
    owner: object = None
    is_ended_here: bool = True


@dataclass(slots=True)
class Followed:
    """A live run of LlamaIndex. `first` is the agent it began with, `speaking` the one whose turn it is, by LlamaIndex's names.

    It has a `Line` for each project that records it: none before a memory, a retriever or a named agent connects one. `further` has the
    runs of further memory blocks of a project, which only show notes. `beside` has what retrievers showed before the project had a line.
    """

    kind: Kind
    first: str
    task: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    run_id: str | None = None
    has_retriever: bool = False
    """True for a chat engine with an `ALMARetriever`, which shows the notes in place of its memory."""
    context: Any = None
    speaking: str = ""
    lines: dict[ALMA, Line] = field(default_factory=dict)
    further: dict[object, Run] = field(default_factory=dict)
    beside: dict[ALMA, MemorySlice] = field(default_factory=dict)
    schemas: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    early: list[Call] = field(default_factory=list)
    """Calls of a run that continues an earlier one, before its memory was asked."""
    is_waiting: bool = False
    is_written_down: bool = False

    def __post_init__(self) -> None:
        self.speaking = self.speaking or self.first

    def run_of(self, alma: ALMA) -> Run | None:
        """Returns the run that a project records."""
        line = self.lines.get(alma)
        return None if line is None else line.run

    def is_shown_elsewhere(self, run: Run) -> bool:
        """Returns True when a retriever shows the notes of this run, or a harness in its prompt."""
        own = next((line for line in self.lines.values() if line.run is run), None)
        is_in_prompt = own is not None and not own.is_ended_here and run.speaking == run.agent
        return is_in_prompt or (own is not None and self.has_retriever)

    def run_context(self, state: object = None) -> RunContext:
        """Returns the context of the run: its workflow's context, the arguments of `run`, and the state of the workflow."""
        return RunContext(self.context, self.about, state if isinstance(state, Mapping) else {})

    def begin(
        self,
        integration: Integration,
        *,
        names: frozenset[str] | None = None,
        task: str = "",
        thread_id: str | None = None,
        episode_id: str | None = None,
        state: object = None,
        owner: object = None,
    ) -> Line:
        """Starts recording the run in a project. `episode_id` is that of a run that is resumed."""
        context = self.run_context(state)
        agent = self.first if names is not None else integration.agent_of(context)
        run = integration.resumed(
            episode_id,
            self.task or task,
            agent=agent if self.speaking == self.first else self.speaking,
            context=names_in(context, integration),
            run_id=self.run_id,
            thread_id=self.about.get("thread_id") or thread_id,
        )
        line = self.lines.setdefault(integration.alma, Line(run, agent, names, owner))
        line.run.show_beside(self.beside.pop(integration.alma, MemorySlice()))
        for call in self.early:
            self._report(line.run, *call)
        return line

    def shown_beside(self, alma: ALMA, memories: MemorySlice, *, is_in_prompt: bool) -> MemorySlice:
        """Returns what a retriever shows in this run, with tags that differ from those of the notes.

        With `is_in_prompt`, it is inserted into the prompt that has the notes, and leaves out the memories in the notes.
        """
        run, waiting = self.run_of(alma), self.beside.get(alma, MemorySlice())
        shown = waiting if run is None else run.memories
        found, new = tag_beside(memories, shown)
        if run is None:
            self.beside[alma] = together(waiting, new)
        else:
            run.show_beside(new)
        return new if is_in_prompt else found

    # Events.

    def follow(self, step: BoundArguments, tags: Mapping[str, Any]) -> None:
        """Updates whose turn it is, at the beginning of a step."""
        if self.kind is not Kind.CUSTOM:  # it may have several contexts, and must keep none
            self.context = step.arguments.get("ctx", self.context)
        self.run_id = self.run_id or tags.get("llamaindex.run_id")
        if self.is_waiting:
            self.is_waiting = False
            for line in self.lines.values():
                line.run.take_up()
        speaker = spans.speaker(step)
        if speaker is not None and speaker != self.speaking:
            self.hand_over(speaker)

    def hand_over(self, name: str) -> None:
        """Hands the run to another agent."""
        self.speaking = name
        for line in self._taking():
            agent = line.agent if name == self.first else name
            if line.run.speaking != agent:
                line.run.hand_over(agent)

    def said(self, *said: object) -> None:
        """Reports what the agent said whose turn it is."""
        for line in self._taking():
            line.run.model_said(*said)

    def knows(self, tool: BaseTool) -> None:
        """Records the schema of a tool that is called."""
        name, arguments = tool.metadata.get_name(), tool.metadata.fn_schema
        if name not in self.schemas:
            self.schemas[name] = {}  # where there is none, or it cannot be read
            self.schemas[name] = schema_of(arguments) if arguments is not None else {}

    def tool_called(self, name: str, arguments: object, output: ToolOutput | BaseException, since: float) -> None:
        """Reports a tool call. Hand-offs and calls of memory tools are no steps."""
        if name == spans.HANDOFF or name.endswith(spans.MEMORY_TOOLS):
            return
        call = (name, arguments, output, time.monotonic() - since)
        if not self.lines and not self.task:
            self.early.append(call)
        for line in self._taking():
            self._report(line.run, *call)

    def corrected(self, reason: str) -> None:
        """Reports that the agent was sent back."""
        for line in self._taking():
            line.run.corrected(reason)
            line.run.settle_soon()

    def answered(self, result: object) -> None:
        """Reports the final answer, and removes its citations for projects with `strip_tags`."""
        self.said(spans.output_of(result))
        for run in [line.run for line in self.lines.values() if line.run.options.strip_tags]:
            if isinstance(result, spans.Streamed):
                run.integration.warn_once("strip_tags does not reach streamed answers; use alma.types.tags.without_citations")
            else:
                spans.change_answer(result, run.for_user)

    def clean(self, message: object) -> None:
        """Removes citations from an answer, before the chat keeps it, for projects with `strip_tags`."""
        for line in self.lines.values():
            if line.run.options.strip_tags:
                spans.change_texts(message, line.run.for_user)

    # The end.

    def ended(self, result: object, error: BaseException | None = None, *, is_judged: bool = True) -> None:
        """Ends the run with its result or its error. Without either, it was cut short."""
        self.context = (
            None  # it has the episodes' bookmark, which leads here: LlamaIndex refuses the id of a run that it still finds
        )
        if result is None and error is None:
            self.leave(*self.lines)
        text = spans.output_of(result)
        for line in self.lines.values():
            line.run.model_said(text)
            if line.is_ended_here:
                line.run.end_soon(text, error=error, is_judged=is_judged, result=spans.result_of(result))

    def leave(self, *projects: ALMA) -> None:
        """Ends the run for projects where it was cut short. If its context was serialised, it is suspended and can be resumed."""
        for line in [self.lines.pop(alma) for alma in projects if alma in self.lines]:
            if self.is_written_down:
                line.run.suspend_soon()
            elif line.is_ended_here:
                line.run.end_soon(error=CancelledError(), reason=CUT_SHORT)

    def waits(self) -> None:
        """Records that a tool waits for an event. If the context is serialised, another process may continue."""
        self.is_waiting = True
        for line in self.lines.values() if self.is_written_down else ():
            line.run.suspend_soon()

    def written_down(self) -> dict[str, str]:
        """Records that the context is serialised. Returns the episodes of the run, by project."""
        self.is_written_down = True
        for line in self.lines.values():
            if not line.run.is_over and line.run.episode is not None and self.is_waiting:  # reading `episode` begins it
                line.run.suspend_soon()
        return {alma.project_id: id_ for alma, line in self.lines.items() if (id_ := line.run.episode_id) is not None}

    def _taking(self) -> list[Line]:
        """Returns the lines that count the actions of the agent whose turn it is."""
        return [line for line in list(self.lines.values()) if line.names is None or self.speaking in line.names]

    def _report(self, run: Run, name: str, arguments: object, output: ToolOutput | BaseException, seconds: float) -> None:
        use = tool_use(name, arguments, schema=self.schemas.get(name), task=run.task)
        error = output if isinstance(output, BaseException) else output.exception
        if error is not None:
            run.tool_raised(use, error, seconds=seconds)
        elif isinstance(output, ToolOutput) and output.is_error:
            run.tool_failed(use, output.content, seconds=seconds)
        elif isinstance(output, ToolOutput):
            run.tool_returned(use, output.content if output.raw_output is None else output.raw_output, seconds=seconds)
        run.settle_soon()


class Bookmark(dict[str, str]):
    """The episodes of a run, in the store of its context. They are read when the context is serialised, and become plain values."""

    def __init__(self, read: Callable[[], dict[str, str]]) -> None:
        super().__init__()
        self._read = read

    def items(self) -> Any:
        """Returns the ids of the episodes, by project."""
        return self._read().items()

    def __deepcopy__(self, memo: Any) -> "Bookmark":
        return self

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (self._read(),)


def names_in(context: RunContext, integration: Integration) -> RunContext:
    """Returns a context with only the names, looked up now, so that later writes keep no object of LlamaIndex alive."""
    return RunContext(pinned=integration.pinned(context).pinned)
