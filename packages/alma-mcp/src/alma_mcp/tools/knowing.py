"""Tools for what is known of the user, with the projects, goals and tools around them."""

from typing import Annotated, Any

from pydantic import Field

from alma_mcp.calls import Calls
from alma_mcp.self_model import Graph, NewLink, NewNode, graph_of, update_of
from alma_mcp.tools.arguments import Agent, UserId


def get_self_model(calls: Calls, agent: Agent = None, user_id: UserId = None) -> Graph:
    """Use at the start of a session: whom you work for, on what, towards which goals, with which tools, and what the user prefers."""
    who = calls.access
    return graph_of(calls.alma.graph.get_self_model(agent=who.as_agent(agent), user_id=who.as_user(user_id)))


def update_self_model(
    calls: Calls,
    nodes: Annotated[list[NewNode] | None, Field(description="Nodes to add, or facts to add to known ones.")] = None,
    links: Annotated[list[NewLink] | None, Field(description="Relations; an end is Type:name, a new name, or User.")] = None,
    remove: Annotated[list[str] | None, Field(description="Nodes that no longer hold, each Type:name.")] = None,
    new_data: Annotated[list[Any] | None, Field(description="Sentences, instead of the above or beside them.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
) -> Graph:
    """Use when you learn something lasting about the user, a project, a goal or a tool. It is merged: the rest stays as it is.

    What the user prefers is kept as a preference. All agents of the user see it.
    """
    who = calls.access
    update = update_of(nodes, links, remove, new_data)
    return graph_of(calls.alma.graph.update_self_model(update, agent=who.as_agent(agent), user_id=who.as_user(user_id)))
