"""Crews without a network: a scripted chat model for CrewAI, and crews, agents and tools around it."""

import json
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

for name in (
    "CREWAI_DISABLE_TELEMETRY",
    "CREWAI_DISABLE_TRACKING",
    "CREWAI_DISABLE_VERSION_CHECK",
    "OTEL_SDK_DISABLED",
    "CREWAI_TESTING",
):
    os.environ[name] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ.pop("OPENAI_API_KEY", None)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # CrewAI's own imports: nothing that a user of ALMA could mend
    from crewai import Agent, Crew, Task
    from crewai.llms.base_llm import BaseLLM
    from crewai.tools import tool
    from pydantic import PrivateAttr

Message = dict[str, Any]
Reply = str | Exception | list[dict[str, Any]] | Callable[[list[Message]], Any]


class ScriptedLLM(BaseLLM):
    """Answers by a script, one reply a call, the last one for good; keeps what it was asked. A function is given the messages."""

    model: str = "scripted"
    native: bool = True
    _replies: list[Reply] = PrivateAttr()
    _asked: list[list[Message]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *replies: Reply, native: bool = True, **settings: Any) -> None:
        super().__init__(model="scripted", **settings)
        self.native = native
        self._replies = list(replies) or ["done"]

    @property
    def asked(self) -> list[list[Message]]:
        """The messages of each call."""
        return self._asked

    def prompt(self, number: int = 0) -> str:
        """All that the model was shown in a call."""
        return "\n".join(str(message.get("content") or "") for message in self._asked[number])

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        with self._lock:
            seen = [dict(message) for message in messages] if isinstance(messages, list) else [{"content": messages}]
            self._asked.append(seen)
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply(seen) if callable(reply) else reply

    async def acall(self, messages: Any, *args: Any, **settings: Any) -> Any:
        return self.call(messages, *args, **settings)


def use(name: str, **arguments: Any) -> list[dict[str, Any]]:
    """A native call of a tool."""
    return [{"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def agent(llm: BaseLLM, role: str = "Coder", *, tools: Sequence[Any] = (), **settings: Any) -> Agent:
    return Agent(role=role, goal="help", backstory="none", llm=llm, tools=list(tools), verbose=False, **settings)


def task(description: str, worker: Agent | None = None, **settings: Any) -> Task:
    return Task(description=description, expected_output="an answer", agent=worker, **settings)


def crew(*tasks: Task, **settings: Any) -> Crew:
    agents: list[Any] = []
    for each in tasks:
        if each.agent is not None and not any(each.agent is known for known in agents):
            agents.append(each.agent)
    return Crew(agents=settings.pop("agents", agents), tasks=list(tasks), verbose=False, **settings)


@tool("good_tool")
def good_tool(text: str) -> str:
    """Works."""
    return f"fine: {text}"


@tool("bad_tool")
def bad_tool(text: str) -> str:
    """Breaks."""
    raise RuntimeError("boom")
