"""`alma.learn_from_spans`: runs of agents, read from their OpenTelemetry traces, become episodes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from alma import ALMA
from alma.errors import ConfigurationError, ConflictError, ValidationError
from alma.text import quoted, storable
from alma.types.episodes import LEASE_DURATION
from alma_harness.option_names import options_of
from alma_harness.spans import Span, read_spans
from alma_harness.values import Value
from alma_integration import Integration, RunContext, checked_name, open_records, tool_use

_OPERATION = "gen_ai.operation.name"
_TASKS = ("gen_ai.input.messages", "gen_ai.prompt", "input.value")
_ANSWERS = ("gen_ai.output.messages", "gen_ai.completion", "output.value")
TASK_CHARS = 2_000
CLAIM = "traces.claim"
"""Kind of the records by which a process claims runs."""

OLD = "1970-01-01T00:00:00+00:00"
"""Time of a claim that has none: a former version stored it."""


class SpansReport(Value):
    """Report of `learn_from_spans`: the ids of the new episodes, and counts of known runs, steps, and spans of no run."""

    episode_ids: tuple[str, ...] = ()
    known: int = 0
    steps: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Traced:
    """One run of an agent in a trace."""

    span: Span
    agent: str
    user: str | None
    task: str
    tools: Sequence[Span]

    @property
    def run_id(self) -> str:
        return f"{self.span.trace_id}:{self.span.span_id}"

    @property
    def key(self) -> str:
        """Key of the claim on it."""
        return sha256(self.run_id.encode("utf-8", "surrogatepass")).hexdigest()


def learn_from_spans(alma: ALMA, spans: object, *, agent: str | None = None, **options: Any) -> SpansReport:
    """See `ALMA.learn_from_spans`."""
    if "on_error" in options:
        raise ConfigurationError("learn_from_spans always raises errors; leave out on_error")
    chosen = options_of({**options, "on_error": "raise"})
    fallback = None if agent is None else checked_name(agent, "agent")
    runs, left_out = _runs(read_spans(spans), fallback)
    integration = Integration(alma, options=chosen)
    new, ids = [], []
    with _claims(alma) as claim:
        for run in runs:
            # looked up again after the claim, because another process may have recorded it before
            if not alma.run_episodes(run.run_id) and claim(run) and not alma.run_episodes(run.run_id):
                new.append(run)
                ids.append(_record(integration, run))
    return SpansReport(
        episode_ids=tuple(filter(None, ids)),
        known=len(runs) - len(new),
        steps=sum(len(run.tools) for run in new),
        left_out=left_out,
    )


@contextmanager
def _claims(alma: ALMA) -> Iterator[Callable[[_Traced], bool]]:
    """Yields a function that claims a run just before it is recorded, so that two processes that read the same traces do not both record it.

    The claims are dropped at the end of the block. Those of a process that died end after ten minutes.
    """
    records = open_records(alma, CLAIM)
    mine: list[str] = []

    def claim(run: _Traced) -> bool:
        found, now = records.get(run.key), records.now()
        if found is not None and now - datetime.fromisoformat(str(found.body.get("at", OLD))) <= LEASE_DURATION:
            return False
        try:
            records.put(run.key, {"at": now.isoformat()}, version=found.version if found else 0)
        except ConflictError:
            return False
        mine.append(run.key)
        return True

    try:
        yield claim
    finally:
        records.erase(mine)


def _runs(spans: Sequence[Span], fallback: str | None) -> tuple[list[_Traced], int]:
    """Returns the runs in the order of their start, and the number of spans of no run."""
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    ordered = sorted(by_id.values(), key=lambda span: span.start)
    agents = {key: span for key, span in by_id.items() if span.attributes.get(_OPERATION) == "invoke_agent"}
    tools: dict[tuple[str, str], list[Span]] = {key: [] for key in agents}
    lost = 0
    for span in ordered:
        if span.attributes.get(_OPERATION) != "execute_tool":
            continue
        owner = _owner(span, by_id, agents)
        if owner is None:
            lost += 1
        else:
            tools[owner].append(span)
    runs = [
        _traced(span, tools[span.trace_id, span.span_id], fallback) for span in ordered if (span.trace_id, span.span_id) in agents
    ]
    return runs, lost


def _owner(span: Span, by_id: Mapping[tuple[str, str], Span], agents: Mapping[tuple[str, str], Span]) -> tuple[str, str] | None:
    """Returns the nearest run above a span. A circle of parents is no run."""
    seen: set[tuple[str, str]] = set()
    key = (span.trace_id, span.parent_id)
    while key in by_id and key not in seen:
        if key in agents:
            return key
        seen.add(key)
        key = (span.trace_id, by_id[key].parent_id)
    return None


def _traced(span: Span, tools: Sequence[Span], fallback: str | None) -> _Traced:
    named = span.text("gen_ai.agent.name") or fallback
    if named is None:
        raise ValidationError(f"span {span.span_id} ({quoted(span.name)}) names no agent (gen_ai.agent.name); give agent=")
    user = span.text("user.id", "enduser.id") or None
    if user is not None:
        checked_name(user, "user.id")
    task = next(filter(None, (_said(span.attributes.get(name), "user") for name in _TASKS)), "") or span.name
    task = storable(task, TASK_CHARS)
    if not task.strip():
        raise ValidationError(f"span {span.span_id} has no task: neither {', '.join(_TASKS)} nor a name")
    return _Traced(span, checked_name(named, "gen_ai.agent.name"), user, task, tools)


def _record(integration: Integration, traced: _Traced) -> str | None:
    span = traced.span
    known = {**span.attributes, "user_id": traced.user}
    conversation = span.text("gen_ai.conversation.id")
    run = integration.run(
        traced.task,
        agent=traced.agent,
        context=RunContext(metadata=known),
        run_id=traced.run_id,
        thread_id=storable(conversation, 200) or None,
    )
    for tool in traced.tools:
        name = storable(tool.text("gen_ai.tool.name") or tool.name or "tool", 200)
        use = tool_use(name, tool.attributes.get("gen_ai.tool.call.arguments"), task=traced.task)
        if tool.error is None:
            run.tool_returned(use, tool.attributes.get("gen_ai.tool.call.result"), seconds=tool.seconds)
        else:
            run.tool_failed(use, tool.error, seconds=tool.seconds)
    answer = next(filter(None, (_said(span.attributes.get(name), "assistant") for name in _ANSWERS)), "")
    report = run.end(answer, error=span.error)
    return report.episode_id if report else None


def _said(given: Any, role: str) -> str:
    """Returns the last text of a role: of messages as the conventions have them, or the plain text itself."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return str(given).strip()
    if isinstance(given, str):
        return given.strip()
    messages = given if isinstance(given, list) else []
    texts = [_text(message) for message in messages if isinstance(message, Mapping) and message.get("role") == role]
    return next((text for text in reversed(texts) if text), "")


def _text(message: Mapping[str, Any]) -> str:
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, str):
        return parts.strip()
    said = (
        [part.get("content", part.get("text")) for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    )
    return "\n".join(part for part in said if isinstance(part, str)).strip()
