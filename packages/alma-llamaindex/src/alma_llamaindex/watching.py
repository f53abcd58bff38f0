"""Turns what spans say into runs, and runs into what is recorded."""

import time
from collections.abc import Collection
from inspect import BoundArguments

from llama_index.core.agent.workflow import ToolCallResult

from alma import MemorySlice
from alma_llamaindex import spans
from alma_llamaindex.recording import Recording
from alma_llamaindex.runs import Action, Part, Run, ToolStep, as_task


class Watcher:
    """Follows runs from their first span to their last. Knows no dispatcher: it is told of spans, and tells a `Recording`."""

    def __init__(self, recording: Recording, *, agents: Collection[str], action: Action, learns_queries: bool) -> None:
        self._recording = recording
        self._agents = frozenset(agents)
        self._action = action
        self._learns_queries = learns_queries

    @property
    def waits_for_blocks(self) -> bool:
        """Whether it records nothing but runs that a memory block brings to it."""
        return not self._agents and not self._learns_queries

    def is_done_with(self, run: Run) -> bool:
        """Whether a run whose first turn begins is not one to learn from: no block of this ALMA was asked for its task. One that goes on may yet."""
        return self.waits_for_blocks and bool(run.task) and not run.parts

    def begun(self, span_id: str, instance: object, bound_args: BoundArguments, *, is_inside: bool) -> Run | None:
        """The run that begins with a span, if one does. Of a query engine inside of another run, none does."""
        first = spans.first_agent(span_id, instance)
        if first is not None:
            task, is_workflow = as_task(spans.asked(bound_args)), spans.is_workflow(instance)
            return Run(first, task, is_workflow=is_workflow, is_judging=self._recording.is_at_work)
        question = None if is_inside or not self._learns_queries else spans.query(span_id, instance, bound_args)
        return (
            None
            if question is None
            else Run(type(instance).__name__, as_task(question), is_query=True, is_judging=self._recording.is_at_work)
        )

    def follow(self, run: Run, bound_args: BoundArguments) -> None:
        """Keeps up with whose turn it is, at the beginning of a span inside of the run."""
        run.context = bound_args.arguments.get("ctx", run.context)
        if name := spans.speaker(bound_args):
            run.heard(name)

    def done(self, run: Run, result: object, *, since: float) -> None:
        """Takes what a span inside of the run came to, which began `since`."""
        self._begin(run)
        if said := spans.said(result):
            self._heard(run, *said)
        elif called := spans.tool_result(result):
            self._stepped(run, self._step(run, called, since))

    def ended(self, run: Run, result: object, error: BaseException | None) -> None:
        """Ends a run, if it is one to learn from."""
        for name in run.speakers:
            self._part(run, name)
        if not run.parts:
            return
        if result is None and error is None:  # cancelled by `handler.cancel_run()`
            self._recording.abandon(run)
        else:
            self._begin(run)
            output = spans.output_of(result)
            self._heard(run, run.speaking, output)
            self._recording.end(run, output=output, result=result, error=error)

    def take(self, run: Run, part: Part) -> Part:
        """Makes a part of a run an episode, when the step is over in which it is taken. The first one for an agent stands."""
        found = run.parts.setdefault(part.name, part)
        if found is part:
            run.unbegun.append(part)
        return found

    def _begin(self, run: Run) -> None:
        """Opens the episodes of what was taken. Until then it may show that not all memories had room in the prompt."""
        while run.unbegun:
            part = run.unbegun.pop(0)
            self._recording.begin(part, run.steps_of(part.name))

    def _part(self, run: Run, name: str) -> Part | None:
        """The agent's part in the run; one to which nothing was shown, if its runs are learned from by name."""
        if name in run.parts or name not in self._agents or not run.task:
            return run.parts.get(name)
        nothing = MemorySlice(query=run.task, agent=name, project_id=self._recording.alma.project_id)
        return self.take(run, Part(name=name, agent=name, task=run.task, memories=nothing))

    def _heard(self, run: Run, name: str, text: str) -> None:
        if "[" in text and name in run.parts:
            self._recording.observe(run.parts[name], text)

    def _stepped(self, run: Run, step: ToolStep) -> None:
        part = self._part(run, step.agent)
        self._begin(run)
        run.steps.append(step)
        if part is not None:
            self._recording.step(part, step)

    def _step(self, run: Run, called: ToolCallResult, since: float) -> ToolStep:
        output = called.tool_output
        error = f"{type(output.exception).__name__}: {output.content}" if output.exception else output.content
        return ToolStep(
            agent=run.speaking,
            tool=called.tool_name,
            arguments=called.tool_kwargs,
            action=self._action(called.tool_name, called.tool_kwargs),
            ok=not output.is_error,
            answer=error if output.is_error else output.content,
            duration_ms=(time.monotonic() - since) * 1000,
        )
