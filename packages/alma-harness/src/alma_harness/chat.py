"""`remembered_client`: an OpenAI- or Anthropic-style client whose conversations with tools are recorded as runs."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack

from alma import ALMA
from alma.errors import ConfigurationError, ValidationError
from alma.integration import Bounded, Identity, Integration, OptionArguments, Run, ToolUse, tool_use
from alma.text import quoted
from alma_harness.chat_forms import ANTHROPIC, OPENAI, Form, Turn, read
from alma_harness.following import failing
from alma_harness.option_names import options_of

MOST_CALLS = 10_000
"""Tool calls whose results have not come back; the oldest is dropped for a new one."""


def remembered_client(alma: ALMA, client: Any, agent: Identity = None, **options: Unpack[OptionArguments]) -> Any:
    """Returns a client to use in place of `client`, which must not be asynchronous: it has `chat.completions.create` or `messages.create`.

    Notes are added to the user's message of each request, not to the caller's list. A run begins with a user's message, goes on while the
    results of its tool calls are sent, and ends with the answer that calls no tool. Streams are passed on.
    """
    integration = Integration(alma, agent=agent, options=options_of(dict(options)))
    for form in (OPENAI, ANTHROPIC):
        create = read(client, *form.path)
        if callable(create):
            if inspect.iscoroutinefunction(create):
                raise ConfigurationError("the client is asynchronous; remembered_client takes one that is not")
            return _replaced(client, form.path, _Conversations(integration, form, create).create)
    raise ConfigurationError(f"client has neither chat.completions.create nor messages.create: {quoted(client)}")


class _Replaced:
    """Stands for an object, one attribute of which is another."""

    def __init__(self, original: Any, name: str, value: Any) -> None:
        self._original = original
        setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _replaced(original: Any, path: Sequence[str], value: Any) -> Any:
    name, *rest = path
    return _Replaced(original, name, _replaced(getattr(original, name), rest, value) if rest else value)


class _Conversations:
    """The runs of one client. They are known by the ids of the tool calls that wait for results."""

    def __init__(self, integration: Integration, form: Form, create: Callable[..., Any]) -> None:
        self._integration = integration
        self._form = form
        self._create = create
        self._waiting = Bounded[str, tuple[Run, ToolUse]](MOST_CALLS)

    def create(self, *given: Any, **named: Any) -> Any:
        messages = named.get("messages")
        if not isinstance(messages, list | tuple):
            raise ValidationError(f"messages must be a list, not {quoted(messages)}")
        run = self._going_on(messages) or self._integration.run(self._form.task(messages) or "conversation")
        notes = run.recall() if run.options.inject != "none" else ""
        with failing(run):
            answer = self._create(*given, **{**named, "messages": self._form.with_notes(messages, notes)})
        if named.get("stream"):
            return self._streamed(run, answer)
        self._heard(run, self._form.turn(answer))
        return answer

    def _going_on(self, messages: Sequence[Any]) -> Run | None:
        """Reports the results of tool calls that are sent, and returns the run that made the calls."""
        found: Run | None = None
        for call_id, result, has_failed in self._form.results(messages):
            waiting = self._waiting.pop(call_id, None)
            if waiting is not None:
                found, use = waiting
                found.tool_returned(use, result, ok=False if has_failed else None)
        if found is not None:
            found.settle()
        return found

    def _heard(self, run: Run, turn: Turn) -> None:
        run.model_said("\n".join([turn.text, *(str(arguments) for _, _, arguments in turn.calls)]))
        for call_id, name, arguments in turn.calls:
            self._waiting[call_id] = run, tool_use(name, arguments, task=run.task)
        if turn.calls:
            run.settle()
        else:
            run.end(turn.text, result=turn.text)

    def _streamed(self, run: Run, chunks: Any) -> Iterator[Any]:
        turn = self._form.streamed()
        with failing(run):
            for chunk in chunks:
                turn.add(chunk)
                yield chunk
        self._heard(run, turn.whole())
