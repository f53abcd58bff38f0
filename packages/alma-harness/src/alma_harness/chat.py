"""`remembered_client`: an OpenAI- or Anthropic-style client whose conversations with tools are recorded as runs."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack

from alma import ALMA
from alma.errors import ConfigurationError, ValidationError
from alma.text import quoted
from alma_harness.chat_forms import ANTHROPIC, OPENAI, Form, Turn, read
from alma_harness.chat_streams import AsyncChunks, Chunks
from alma_harness.following import afail, failing
from alma_harness.learnings import Recorded, ids_of
from alma_harness.option_names import options_of
from alma_integration import Bounded, Identity, Integration, OptionArguments, Run, RunContext, ToolUse, check_identity, tool_use

MOST_CALLS = 10_000
"""Tool calls whose results have not come back; the oldest is dropped for a new one."""


def remembered_client(
    alma: ALMA,
    client: Any,
    agent: Identity = None,
    *,
    run_id: Identity = None,
    thread_id: Identity = None,
    **options: Unpack[OptionArguments],
) -> Any:
    """Returns a client to use in place of `client`, of either colour: it has `chat.completions.create` or `messages.create`.

    Notes are added to the user's message of each request, not to the caller's list. A run begins with a user's message, goes on while the
    results of its tool calls are sent, and ends with the answer that calls no tool. Streams are passed on. `run_id`, `thread_id` and
    `user_id` are a name, a function of the `RunContext`, or by default those in the `metadata` of the request. The attribute `learning`
    has the errors of ALMA itself, and the last report.
    """
    check_identity(run_id, "run_id")
    check_identity(thread_id, "thread_id")
    integration = Integration(alma, agent=agent, options=options_of(dict(options)))
    for form in (OPENAI, ANTHROPIC):
        create = read(client, *form.path)
        if callable(create):
            conversations = _Conversations(integration, form, create, {"run_id": run_id, "thread_id": thread_id})
            is_async = inspect.iscoroutinefunction(inspect.unwrap(create))
            replaced = _replaced(client, form.path, conversations.acreate if is_async else conversations.create)
            replaced.learning = Recorded(integration)
            return replaced
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

    def __init__(self, integration: Integration, form: Form, create: Callable[..., Any], ids: Mapping[str, Identity]) -> None:
        self._integration = integration
        self._form = form
        self._create = create
        self._ids = ids
        self._waiting = Bounded[str, tuple[Run, ToolUse]](MOST_CALLS)

    def create(self, *given: Any, **named: Any) -> Any:
        messages = _messages(named)
        run = self._run(messages, named)
        run.settle()
        request = {**named, "messages": self._form.with_notes(messages, run.recall())}
        with failing(run):
            answer = self._create(*given, **request)
        if inspect.isawaitable(answer):  # an asynchronous client whose method does not look it
            return self._awaited(run, answer, is_stream=bool(named.get("stream")))
        if named.get("stream"):
            return Chunks(answer, run, self._form.streamed(), lambda turn: self._heard(run, turn))
        self._heard(run, self._form.turn(answer))
        return answer

    async def acreate(self, *given: Any, **named: Any) -> Any:
        messages = _messages(named)
        run = self._run(messages, named)
        await run.asettle()
        notes = await run.arecall()
        request = {**named, "messages": self._form.with_notes(messages, notes)}
        return await self._awaited(run, self._create(*given, **request), is_stream=bool(named.get("stream")))

    async def _awaited(self, run: Run, answering: Awaitable[Any], *, is_stream: bool) -> Any:
        try:
            answer = await answering
        except BaseException as error:
            await afail(run, error)
            raise
        if is_stream:
            return AsyncChunks(answer, run, self._form.streamed(), lambda turn: self._aheard(run, turn))
        await self._aheard(run, self._form.turn(answer))
        return answer

    def _run(self, messages: Sequence[Any], named: Mapping[str, Any]) -> Run:
        """Returns the run that made the calls whose results are sent, else a new one."""
        found: Run | None = None
        for call_id, result, has_failed in self._form.results(messages):
            waiting = self._waiting.pop(call_id, None)
            if waiting is not None:
                found, use = waiting
                found.tool_returned(use, result, ok=False if has_failed else None)
        if found is not None:
            return found
        metadata = named.get("metadata")
        context = RunContext(metadata=metadata if isinstance(metadata, Mapping) else {})
        ids = ids_of(self._integration, context, **self._ids)
        return self._integration.run(self._form.task(messages) or "conversation", context=context, **ids)

    def _said(self, run: Run, turn: Turn) -> None:
        run.model_said("\n".join([turn.text, *(str(arguments) for _, _, arguments in turn.calls)]))
        for call_id, name, arguments in turn.calls:
            self._waiting[call_id] = run, tool_use(name, arguments, task=run.task)

    def _heard(self, run: Run, turn: Turn) -> None:
        self._said(run, turn)
        if turn.calls:
            _opened(run)
        else:
            run.end(turn.text, result=turn.text)

    async def _aheard(self, run: Run, turn: Turn) -> None:
        self._said(run, turn)
        if turn.calls:
            await asyncio.to_thread(_opened, run)
        else:
            await run.aend(turn.text, result=turn.text)


def _opened(run: Run) -> None:
    """Begins the episode, so that a conversation which is left during its first tool is known."""
    if run.episode is not None:
        run.settle()


def _messages(named: Mapping[str, Any]) -> Sequence[Any]:
    messages = named.get("messages")
    if not isinstance(messages, list | tuple):
        raise ValidationError(f"messages must be a list, not {quoted(messages)}")
    return messages
