"""The ways to follow an agent: by what, and in which colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import BaseTool

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, AsyncALMACallbackHandler
from scripted import QUESTION, deploy, invoke, scripted


@dataclass
class Way:
    """Middleware, a handler or both around a real agent."""

    alma: ALMA
    by: str
    is_async: bool
    evaluator: Any = None
    on_error: Any = "log"

    def __post_init__(self) -> None:
        handler = AsyncALMACallbackHandler if self.is_async else ALMACallbackHandler
        given: Any = {"agent": "dev", "evaluator": self.evaluator, "on_error": self.on_error}
        self.middleware = ALMAMiddleware(self.alma, **given)
        self.handler = handler(self.alma, **given)

    @property
    def has_middleware(self) -> bool:
        return self.by != "handler"

    def agent(
        self,
        *replies: Any,
        tools: Sequence[BaseTool] = (deploy,),
        inner: Sequence[Any] = (),
        outer: Sequence[Any] = (),
        **given: Any,
    ) -> Any:
        mine = [self.middleware] if self.has_middleware else []
        return create_agent(scripted(*replies), list(tools), middleware=[*outer, *mine, *inner], **given)

    def invoke(self, agent: Any, given: Any = QUESTION, **config: Any) -> Any:
        callbacks = [self.handler] if self.by != "middleware" else []
        result = invoke(agent, given, is_async=self.is_async, config={"callbacks": callbacks, **config})
        self.check()
        return result

    def check(self) -> None:
        assert not self.middleware.errors
        assert not self.handler.errors
        assert self.middleware.recorder.live == self.handler.recorder.live == 0
        assert len(self.handler.tree) == 0
