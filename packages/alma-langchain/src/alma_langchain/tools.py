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


class _Record(BaseModel):
    """What happened."""

    task: Annotated[str, Field(description="What was to be done.")]
    outcome: Annotated[Literal["success", "failure", "partial"], Field(description="How it went.")]
    strategy: Annotated[str | None, Field(description="The way it was done.")] = None
    error: Annotated[str | None, Field(description="What went wrong, if it did.")] = None


def create_alma_tools(alma: ALMA, agent: str, *, user_id: str | None = None, top_k: int = 5) -> list[BaseTool]:
    """Tools by which an agent searches its memory and records how something went.

    Their calls are no steps of the agent's work. Preferences come with `user_id`, by default the one in the run's metadata.
    """
    return [_search(alma, checked_name(agent, "agent"), user_id, top_k), _record(alma, agent)]


def _search(alma: ALMA, agent: str, user_id: str | None, top_k: int) -> BaseTool:
    def search_memory(query: str, config: RunnableConfig) -> str:
        user = user_id if user_id is not None else (config.get("metadata") or {}).get("user_id")
        found = alma.retrieve(query, agent, top_k=top_k, user_id=user)
        return found.to_prompt() or "Nothing is known about this yet."

    description = "Searches what was learned in earlier work: what worked, what failed, facts and wishes. Ask before a task."
    return _made(search_memory, "search_memory", description, _Search)


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
