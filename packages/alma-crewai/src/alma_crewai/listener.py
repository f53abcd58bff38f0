"""`ALMACrewListener`: records one episode for each task of a crew, through CrewAI's hooks. These are registered once, while anything
listens."""

import weakref
from typing import Any, Unpack

from crewai.hooks import InterceptionPoint, get_hooks, register_hook, unregister_hook
from crewai.utilities.evaluators.crew_evaluator_handler import CrewEvaluator
from crewai.utilities.i18n import I18N_DEFAULT

from alma import ALMA
from alma_crewai import events, people, starts
from alma_crewai.actors import context_of
from alma_crewai.attempt import current
from alma_crewai.recorders import LOCK, OPEN, Recorder, Settings, check_names, recorder_for
from alma_integration import Learning, check_parts

check_parts(
    "alma-crewai",
    "crewai",
    (
        "crewai:Crew._inputs",
        "crewai:Crew._memory",
        "crewai:Agent._original_role",
        "crewai:Task._original_description",
        "crewai.memory.memory_scope:MemoryScope._memory",
        "crewai.memory.unified_memory:Memory._storage",
        "crewai.core.providers.human_input:ExecutorContext._format_feedback_message",
        "crewai.core.providers.human_input:ExecutorContext._is_training_mode",
    ),
)


class ALMACrewListener(Learning):
    """Records the tasks of all crews in the process that have no `ALMAMemory`; of several listeners, the one created last does.

    A task is one episode: the calls of tools, the ending, the source of the verdict. It takes the options of `alma.integration.Options`,
    and `agent`. It listens until it or its ALMA is closed, whether or not the program references it. No error of ALMA reaches a crew.
    """

    def __init__(self, alma: ALMA, **settings: Unpack[Settings]) -> None:
        check_names(settings, type(self).__name__)
        self._recorder = Recorder(alma, settings)
        self._integration = self._recorder.integration
        self._let_go = alma.before_close(self.close)  # often the only reference
        listen(self._recorder, is_listener=True)

    @property
    def is_open(self) -> bool:
        """True while tasks are recorded."""
        return self._recorder in OPEN

    def close(self) -> None:
        """Stops recording; live attempts end without a verdict. After the last listener, CrewAI's hooks are as they were before."""
        self._let_go()
        stop(self._recorder)


def listen(recorder: Recorder, *, is_listener: bool = False) -> None:
    """Reports tasks to a recorder, until it is stopped or garbage-collected."""
    with LOCK:
        OPEN[recorder] = is_listener
        weakref.finalize(recorder, _leave_if_alone).atexit = False
        for point, hook in _HOOKS.items():
            if hook not in get_hooks(point):
                register_hook(point, hook)


def stop(recorder: Recorder) -> None:
    """Stops reporting tasks to a recorder and closes it. After the last one CrewAI has its hooks as before."""
    with LOCK:
        OPEN.pop(recorder, None)
        _leave_if_alone()
    recorder.close()


def _leave_if_alone() -> None:
    """Never waits: the collector calls it in any thread, also in one that the holder of the lock waits for. Hooks that stay do nothing."""
    if not LOCK.acquire(blocking=False):
        return
    try:
        if not any(True for _ in OPEN):  # its length counts one that is being collected
            for point, hook in _HOOKS.items():
                unregister_hook(point, hook)
    finally:
        LOCK.release()


def _before_crew(ctx: Any) -> None:
    if ctx.crew is not None:
        starts.prepare(ctx.crew, ctx.inputs)


def _before_task(ctx: Any) -> None:
    recorder = recorder_for(ctx.agent) if ctx.kind == "task" else None
    if recorder is None:
        return
    attempt = events.begin(
        recorder,
        context_of(ctx.agent, ctx.task),
        starts.text_of(ctx.task, getattr(ctx.agent, "crew", None)),
        key=str(ctx.task.id),
        agent_id=str(ctx.agent.id),
        kind="task",
        is_rehearsal=isinstance(getattr(ctx.task.callback, "__self__", None), CrewEvaluator),
    )
    if attempt is not None and ctx.task.human_input:
        people.listen(attempt)


def _after_task(ctx: Any) -> None:
    """Removes the notes from CrewAI's record of a task and, if asked for, from the answer: they are for the prompt only."""
    attempt = current() if ctx.kind == "task" else None
    if attempt is None or attempt.key != str(ctx.task.id):
        return
    run, output = attempt.run, ctx.payload
    if run.notes:
        shown = I18N_DEFAULT.slice("memory").format(memory=f"Relevant memories:\n{run.notes}")
        output.messages = [_without(shown, message) for message in output.messages]
    output.raw = run.for_user(output.raw)


def _without(text: str, message: Any) -> Any:
    content = message.get("content")
    return {**message, "content": content.replace(text, "")} if isinstance(content, str) else message


_HOOKS = {
    InterceptionPoint.INPUT: _before_crew,
    InterceptionPoint.PRE_STEP: _before_task,
    InterceptionPoint.POST_STEP: _after_task,
}
