"""ALMA as tools, for agents that decide themselves when to ask and to tell."""

from typing import Annotated, Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from alma import ALMA
from alma.memory.arguments import checked_name
from alma_langchain.events import OWN_TOOLS


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


def create_alma_tools(alma: ALMA, agent: str, *, user_id: str | None = None, top_k: int = 5) -> list[BaseTool]:
    """Tools by which an agent searches its memory, checks an action before it takes it, and records how something went.

    Their calls are no steps of the agent's work. Preferences come with `user_id`, by default the one in the run's metadata.
    """
    name = checked_name(agent, "agent")
    return [_search(alma, name, user_id, top_k), _check(alma, name), _record(alma, name)]


def _search(alma: ALMA, agent: str, user_id: str | None, top_k: int) -> BaseTool:
    def search_memory(query: str, config: RunnableConfig) -> str:
        user = user_id if user_id is not None else (config.get("metadata") or {}).get("user_id")
        found = alma.retrieve(query, agent, top_k=top_k, user_id=user)
        return found.to_prompt() or "Nothing is known about this yet."

    description = "Searches what was learned in earlier work: what worked, what failed, facts and wishes. Ask before a task."
    return _made(search_memory, "search_memory", description, _Search)


def _check(alma: ALMA, agent: str) -> BaseTool:
    def check_action(action: str) -> str:
        return str(alma.check(agent, action))

    description = "Says whether an action about to be taken is known to fail, and what to do instead. Ask before a risky action."
    return _made(check_action, "check_action", description, _Check)


def _record(alma: ALMA, agent: str) -> BaseTool:
    def record_outcome(task: str, outcome: str, strategy: str | None = None, error: str | None = None) -> str:
        alma.learn(agent, task, outcome, strategy, error_message=error)
        return f"Recorded as {outcome}."

    description = (
        "Records how a task went, so that the next attempt can learn from it. Tell it after a task that could be judged."
    )
    return _made(record_outcome, "record_outcome", description, _Record)


def _made(function: Any, name: str, description: str, schema: type[BaseModel]) -> BaseTool:
    return StructuredTool.from_function(function, name=name, description=description, args_schema=schema, tags=[OWN_TOOLS])
