"""ALMA as tools, for agents that decide themselves when to ask and to tell."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from alma import ALMA
from alma.errors import ScopeViolationError, ValidationError
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count, checked_name
from alma.types.prompt import fenced
from alma_langchain.events import OWN_TOOLS
from alma_langchain.options import check_on_error
from alma_langchain.scope import Scope
from alma_langchain.settings import Identity, OnError, run_context

_LOG = logging.getLogger("alma")

NO_ANSWER = "The memory does not answer now; go on without it."
"""What an agent is told of an error that is none of its own."""


class _Search(BaseModel):
    """What is asked."""

    query: Annotated[str, Field(description="The task or question, in a sentence.")]


class _Check(BaseModel):
    """What is about to be done."""

    action: Annotated[str, Field(description="The action about to be taken, in a few words.")]


class _Record(BaseModel):
    """What happened."""

    task: Annotated[str, Field(description="What was to be done.")]
    outcome: Annotated[Literal["success", "failure", "partial"], Field(description="How it went.")]
    strategy: Annotated[str | None, Field(description="The way it was done.")] = None
    error: Annotated[str | None, Field(description="What went wrong, if it did.")] = None


def create_alma_tools(
    alma: ALMA,
    agent: str,
    *,
    user_id: Identity = None,
    tenant_id: Identity = None,
    top_k: int = 5,
    on_error: OnError = "log",
) -> list[BaseTool]:
    """Tools by which an agent searches its memory, checks an action before it takes it, and records how something went.

    Their calls are no steps of the agent's work. `user_id` and `tenant_id` are as in `Settings`: a name, a function of the `RunContext`, or by
    default what the run calls so. An error of ALMA is logged, and the agent is told that there is no answer, or what was wrong with its
    arguments; `on_error="raise"` raises it into the agent.
    """
    scope = Scope(checked_alma(alma), user_id=user_id, tenant_id=tenant_id)
    name = checked_name(agent, "agent")
    check_on_error(on_error)
    made = [_search(scope, name, checked_count(top_k, "top_k")), _check(scope, name), _record(scope, name)]
    return [tool if on_error == "raise" else _contained(tool) for tool in made]


def _search(scope: Scope, agent: str, top_k: int) -> StructuredTool:
    def search_memory(query: str) -> str:
        context = run_context()
        found = scope.project(context).retrieve(task=query, agent=agent, top_k=top_k, user_id=scope.user(context))
        notes = [f"- {note}" for note in found.fitting().notes()]  # without tags: those that an answer cites are the prompt's
        return fenced(notes) if notes else "Nothing is known about this yet."

    description = "Searches what was learned in earlier work: what worked, what failed, facts and wishes. Ask before a task."
    return _made(search_memory, "search_memory", description, _Search)


def _check(scope: Scope, agent: str) -> StructuredTool:
    def check_action(action: str) -> str:
        return str(scope.project(run_context()).check(agent=agent, action=action))

    description = "Says whether an action about to be taken is known to fail, and what to do instead. Ask before a risky action."
    return _made(check_action, "check_action", description, _Check)


def _record(scope: Scope, agent: str) -> StructuredTool:
    def record_outcome(task: str, outcome: str, strategy: str | None = None, error: str | None = None) -> str:
        scope.project(run_context()).learn(agent=agent, task=task, outcome=outcome, strategy_used=strategy, error_message=error)
        return f"Recorded as {outcome}."

    description = (
        "Records how a task went, so that the next attempt can learn from it. Tell it after a task that could be judged."
    )
    return _made(record_outcome, "record_outcome", description, _Record)


def _made(function: Any, name: str, description: str, schema: type[BaseModel]) -> StructuredTool:
    return StructuredTool.from_function(function, name=name, description=description, args_schema=schema, tags=[OWN_TOOLS])


def _contained(tool: StructuredTool) -> StructuredTool:
    """The tool, whose errors are texts."""
    ask: Callable[..., str] = tool.func  # type: ignore[assignment]  # each has one

    @wraps(ask)
    def answer(**given: Any) -> str:
        try:
            return ask(**given)
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever it is
            _LOG.warning("%s gave no answer: %s: %s (the agent goes on)", tool.name, type(error).__name__, error)
            return f"Refused: {error}" if isinstance(error, ScopeViolationError | ValidationError) else NO_ANSWER

    return tool.model_copy(update={"func": answer})
