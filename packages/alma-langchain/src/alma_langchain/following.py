"""Live runs of agents that have middleware, in this process."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from alma_integration import Bounded, Run
from alma_langchain.graphs import GraphRun
from alma_langchain.recorder import ToolCall, Tracked, end_by


@dataclass(eq=False)
class Followed(Tracked, BaseCallbackHandler):
    """A run of an agent that has middleware. `key`, `asked` and `episode` are stored in the thread; `asked` is the human message that it
    began with.

    `calls` are the running ones, by their ids. As a callback handler within the run, it records the final form of tool calls, and checks
    that the notes reach the model.
    """

    key: str
    asked: str | None
    episode: str | None = None
    has_begun: bool = False
    graph: GraphRun | None = None
    calls: dict[str, ToolCall] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    run_inline = True  # it only does a lookup
    ignore_chain = ignore_llm = ignore_retriever = ignore_retry = ignore_custom_event = True

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Records the tool and the arguments of the actual call, because middleware may change what the model requested."""
        call, inputs = self.calls.pop(kwargs.get("tool_call_id") or "", None), kwargs.get("inputs")
        if call is not None and isinstance(inputs, Mapping):
            name = str(kwargs.get("name") or call.name)
            call.tool = call.tool if name == call.name else None
            call.name, call.arguments = name, inputs

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        """Checks that the notes reach the model."""
        if self.run is not None:
            self.run.model_asked(str(message.text) for batch in messages for message in batch)


class Ending(BaseCallbackHandler):
    """Observes the end of one run of a graph where no hook is called: by an error, a limit, a cancellation or an interrupt."""

    raise_error = True  # errors of ALMA are contained elsewhere; one that arrives here is meant to be raised

    def __init__(self, runs: Bounded[str, Followed], followed: Followed, run_id: UUID) -> None:
        self._runs, self._followed, self._run_id = runs, followed, run_id

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Suspends a run that its hooks have not ended, because it waits for a person."""
        if (run := self._over(run_id)) is not None:
            run.suspend()

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if (run := self._over(run_id)) is not None:
            end_by(error, run)

    def _over(self, run_id: UUID) -> Run | None:
        if run_id != self._run_id:
            return None
        self._runs.pop(self._followed.key, None)
        return self._followed.run


def listen(runs: Bounded[str, Followed], followed: Followed, graph: GraphRun) -> None:
    """Registers callbacks with this run."""
    followed.graph = graph
    graph.manager.handlers.append(Ending(runs, followed, graph.run_id))
    graph.manager.inheritable_handlers.append(followed)
