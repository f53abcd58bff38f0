"""The runs that go on in this process, as LangChain's callbacks tell them: which belongs to which, and which of them ALMA follows."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, ToolMessage

from alma_langchain.attempt import Attempt
from alma_langchain.choices import ToolUse, used
from alma_langchain.reading import final_answer, last_exchange, said_by_model, tool_messages
from alma_langchain.signals import is_interrupt, is_steering, says_nothing

MOST_RUNS = 100_000
"""Runs that never told of their end are forgotten beyond this number, oldest first."""

AFTER_MODEL = ".after_model"
"""How the nodes are named at the end in which middleware looks at what the model wants, and may answer a call in the place of its tool."""

Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is running, and the attempts that it is a step of."""

    use: ToolUse
    call_id: str | None
    started: float
    attempts: tuple[Attempt, ...]


class Runs:
    """Who is whose parent among the chains and tools that run, and which chains are followed. Threads share it.

    An event belongs to the innermost run that is followed. A tool inside a tool is part of the outer one's step. Each event is worked off once,
    whoever tells of it first. What has to be written is returned, so that the caller chooses the thread.
    """

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID | None] = {}
        self._children: dict[UUID, set[UUID]] = {}
        self._tools: dict[UUID, ToolCall] = {}
        self._followed: dict[UUID, list[Attempt]] = {}
        self._looking: set[UUID] = set()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._parents)

    def started(self, run_id: UUID, parent: UUID | None, name: str = "") -> None:
        """A chain or a tool began."""
        with self._lock:
            self._parents[run_id] = parent
            if name.endswith(AFTER_MODEL):
                self._looking.add(run_id)
            if parent is not None and parent in self._parents:
                self._children.setdefault(parent, set()).add(run_id)
            if len(self._parents) > MOST_RUNS:
                self._forget(next(iter(self._parents)))

    def parent(self, run_id: UUID | None) -> UUID | None:
        """The run that this one is a part of."""
        return None if run_id is None else self._parents.get(run_id)

    def follow(self, run_id: UUID, attempt: Attempt) -> None:
        """A run is an attempt. What a handler meant to follow of the same agent, here or further out, gives way to it."""
        with self._lock:
            followed = self._followed.get(run_id, [])
            is_told = attempt in followed or (attempt.is_tentative and any(_is_same(other, attempt) for other in followed))
            if run_id not in self._parents or is_told:
                return
            if not attempt.is_tentative:
                self._give_way(run_id, attempt)
            attempt.is_listened_to = True
            self._followed.setdefault(run_id, []).append(attempt)

    def followed(self, run_id: UUID | None) -> tuple[Attempt, ...]:
        """The attempts that an event of this run belongs to."""
        with self._lock:
            while run_id is not None and run_id not in self._tools:
                if found := self._followed.get(run_id):
                    return tuple(found)
                run_id = self._parents.get(run_id)
            return ()

    def tool_started(
        self, run_id: UUID, parent: UUID | None, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> None:
        """A tool began; it is a step of the runs that no hook tells the steps of. Hooks are not told how a call is made at last."""
        with self._lock:
            if run_id not in self._tools:
                followed = self.followed(parent)
                attempts = tuple(attempt for attempt in followed if not attempt.has_hooks)
                for attempt in followed:
                    if attempt.has_hooks and call_id:
                        attempt.made[call_id] = name, arguments
                self.started(run_id, parent)
                self._tools[run_id] = ToolCall(used(name, arguments, {}), call_id, time.perf_counter(), attempts)

    def tool_ended(self, run_id: UUID, result: Any) -> list[Work]:
        """A tool returned."""
        call, seconds = self._taken(run_id)
        if call is None:
            return []
        call_id = call.call_id or next((message.tool_call_id for message in tool_messages(result)), None)
        for attempt in call.attempts:
            attempt.soon(partial(attempt.tool_returned, call.use, result, seconds, call_id))
        return [attempt.settle for attempt in call.attempts]

    def tool_failed(self, run_id: UUID, error: BaseException) -> list[Work]:
        """A tool raised."""
        call, seconds = self._taken(run_id)
        if call is None or says_nothing(error):
            return []
        for attempt in call.attempts:
            attempt.soon(partial(attempt.tool_raised, call.use, error, seconds, call.call_id))
        return [attempt.settle for attempt in call.attempts]

    def ended(self, run_id: UUID, outputs: Any) -> list[Work]:
        """A chain returned. A followed run that its hooks have not ended was interrupted. A call that middleware refuses is not made."""
        with self._lock:
            if run_id in self._looking:
                refused = {message.tool_call_id for message in last_exchange(outputs) if isinstance(message, ToolMessage)}
                for attempt in self.followed(run_id):
                    attempt.calls |= refused
        return [lambda attempt=attempt: _returned(attempt, outputs) for attempt in self._forget(run_id)]  # type: ignore[misc]

    def failed(self, run_id: UUID, error: BaseException) -> list[Work]:
        """A chain raised."""
        return [lambda attempt=attempt: _raised(attempt, error) for attempt in self._forget(run_id)]  # type: ignore[misc]

    def _give_way(self, run_id: UUID, attempt: Attempt) -> None:
        place: UUID | None = run_id
        while place is not None:
            followed = self._followed.get(place, [])
            followed[:] = [other for other in followed if not (other.is_tentative and _is_same(other, attempt))]
            place = self._parents.get(place)

    def _taken(self, run_id: UUID) -> tuple[ToolCall | None, float]:
        with self._lock:
            call = self._tools.get(run_id)
            self._forget(run_id)
        return call, time.perf_counter() - call.started if call else 0.0

    def _forget(self, run_id: UUID) -> list[Attempt]:
        """What followed a run that is over. Of what is left of its parts, say after a cancellation, nobody may tell any more."""
        with self._lock:
            for part in self._children.pop(run_id, ()):
                if part not in self._followed:
                    self._forget(part)
            parent = self._parents.pop(run_id, None)
            if parent is not None and parent in self._children:
                self._children[parent].discard(run_id)
            self._tools.pop(run_id, None)
            self._looking.discard(run_id)
            return self._followed.pop(run_id, [])


def _is_same(other: Attempt, attempt: Attempt) -> bool:
    is_same = other.recorder.agent == attempt.recorder.agent and other.recorder.alma is attempt.recorder.alma
    return is_same and not (other.is_tentative and other.has_begun)


def _returned(attempt: Attempt, outputs: Any) -> None:
    if attempt.is_over:
        return
    if attempt.has_hooks or attempt.is_interrupted or (isinstance(outputs, Mapping) and "__interrupt__" in outputs):
        attempt.suspend()
        return
    messages = last_exchange(outputs)
    asked = {call["id"]: call["args"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    for message in messages:
        if isinstance(message, ToolMessage) and message.status == "error" and message.tool_call_id not in attempt.calls:
            use = used(message.name or "tool", asked.get(message.tool_call_id, {}), {})
            attempt.tool_returned(use, message, 0.0, message.tool_call_id)  # it told no callback
    attempt.observe(said_by_model(messages) or final_answer(outputs))
    given = dict(outputs) if isinstance(outputs, Mapping) else {}
    attempt.recorder.end(attempt, attempt.finished(answer=final_answer(outputs), messages=messages, outputs=given))


def _raised(attempt: Attempt, error: BaseException) -> None:
    if is_interrupt(error):
        attempt.suspend()
    elif is_steering(error):
        attempt.end(attempt.finished())
    else:
        attempt.leave(error)
