"""`alma.remembers(agent=…)`: a function whose calls are recorded, each as a run."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from alma import ALMA
from alma.errors import ConfigurationError
from alma.text import quoted
from alma_harness.following import afail, astreamed, failing, streamed, text_of
from alma_harness.learnings import Recorded, ids_of
from alma_harness.option_names import options_of
from alma_harness.run_parameter import run_parameter
from alma_integration import Identity, Integration, Run, RunContext, ToolUse, noted_on, tool_use

NOTES = "notes"
"""A parameter of this name is given the notes, unless the caller gives it."""

_OWN = frozenset({"self", "cls", NOTES, "user_id", "tenant_id", "run_id", "thread_id"})
"""Parameters that are no choice of the call: for whom it is, and which run."""
F = TypeVar("F", bound=Callable[..., Any])
TaskOf = str | Callable[..., str] | None


def remembers(alma: ALMA, agent: Identity, *, task: TaskOf = None, **options: Any) -> Callable[[F], F]:
    """Returns the decorator; see `ALMA.remembers`."""
    integration = Integration(alma, agent=agent, options=options_of(options))
    if task is not None and not isinstance(task, str) and not callable(task):
        raise ConfigurationError(f"task must be the name of a parameter or a function, not {quoted(task)}")

    def decorate(function: F) -> F:
        if not callable(function):
            raise ConfigurationError(f"remembers decorates a function, not {quoted(function)}")
        wrapped = _wrapped(_Remembered(integration, function, task), function)
        wrapped.learning = Recorded(integration)
        return cast(F, wrapped)

    return decorate


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: its run, the call to make, and the call as a step if it chooses anything beside its task."""

    run: Run
    make: Callable[[], Any]
    use: ToolUse | None

    def returned(self, result: Any) -> str:
        text = text_of(result)
        self.run.model_said(text)
        if self.use is not None:
            self.run.tool_returned(self.use, result)
        return text

    def raised(self, error: BaseException) -> None:
        if self.use is not None:
            self.run.tool_raised(self.use, error)

    def end(self, result: Any) -> None:
        self.run.end(self.returned(result), result=result)

    async def aend(self, result: Any) -> None:
        await self.run.aend(self.returned(result), result=result)


class _Remembered:
    """A function, and what of its arguments is the task, the user and the notes."""

    def __init__(self, integration: Integration, function: Callable[..., Any], task: TaskOf) -> None:
        self._integration = integration
        self._function = function
        self._name = str(getattr(function, "__name__", type(function).__name__))
        self._signature = inspect.signature(function)
        self._run = run_parameter(function)
        self._task = task
        if isinstance(task, str) and task not in self._signature.parameters:
            raise ConfigurationError(f"{self._name} has no parameter {quoted(task)} that could be its task")

    def begin(self, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Run, Callable[[str], _Call]]:
        """Begins a run. The second value makes the call of it, from the notes."""
        ours = self._ours(given, named)
        bound = self._signature.bind(*given, **named, **dict.fromkeys(ours, ""))
        arguments = {name: value for name, value in bound.arguments.items() if name not in ours}
        place, task = self._task_of(arguments, bound)
        context = RunContext(configurable=arguments)
        run = self._integration.run(task, context=context, **ids_of(self._integration, context))
        chosen = {name: value for name, value in arguments.items() if name not in _OWN and name not in (place, self._run)}
        use = tool_use(self._name, chosen, task=run.task) if chosen else None

        def call(notes: str) -> _Call:
            added = {name: run if name == self._run else notes for name in ours}
            return _Call(run, lambda: self._function(*given, **named, **added), use)

        return run, call

    def _ours(self, given: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
        """Returns the parameters to fill in: the notes and the run, unless the caller gives them."""
        known = self._signature.bind_partial(*given, **named).arguments
        return [
            name for name in (NOTES, self._run) if name is not None and name in self._signature.parameters and name not in known
        ]

    def _task_of(self, arguments: dict[str, Any], bound: inspect.BoundArguments) -> tuple[str | None, str]:
        """Returns the parameter that is the task, if one is, and the task."""
        if callable(self._task):
            return None, str(self._task(*bound.args, **bound.kwargs))
        texts = [name for name, value in arguments.items() if isinstance(value, str) and name not in _OWN and value.strip()]
        place = self._task or ("task" if "task" in texts else next(iter(texts), None))
        return place, (str(arguments.get(place, "")) if place else "").strip() or self._name.replace("_", " ")


def _wrapped(remembered: _Remembered, function: Any) -> Any:
    itself = getattr(function, "__call__", function)  # noqa: B004 - an object may have an asynchronous __call__
    kinds = {
        inspect.isasyncgenfunction: _async_stream,
        inspect.iscoroutinefunction: _async,
        inspect.isgeneratorfunction: _stream,
    }
    make = next((kind for test, kind in kinds.items() if test(function) or test(itself)), _plain)
    return functools.wraps(function)(make(remembered))


def _plain(remembered: _Remembered) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        run, made = remembered.begin(given, named)
        this = made(run.recall())
        with failing(run):
            try:
                result = this.make()
            except BaseException as error:
                this.raised(error)
                raise
        this.end(result)
        return result

    return call


def _async(remembered: _Remembered) -> Callable[..., Any]:
    async def call(*given: Any, **named: Any) -> Any:
        run, made = remembered.begin(given, named)
        this = made(await run.arecall())
        try:
            result = await this.make()
        except BaseException as error:
            with noted_on(error):
                this.raised(error)
            await afail(run, error)
            raise
        await this.aend(result)
        return result

    return call


def _stream(remembered: _Remembered) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        run, made = remembered.begin(given, named)
        this = made(run.recall())
        return (yield from streamed(run, this.make, this.end))

    return call


def _async_stream(remembered: _Remembered) -> Callable[..., Any]:
    async def call(*given: Any, **named: Any) -> Any:
        run, made = remembered.begin(given, named)
        this = made(await run.arecall())
        async for chunk in astreamed(run, this.make, this.aend):
            yield chunk

    return call
