"""Tools for what an agent knows of its user, projects, goals and tools."""

from typing import Annotated

from pydantic import Field

from alma_mcp.calls import Calls
from alma_mcp.self_model import Graph, NewLink, NewNode, SelfModel, Update
from alma_mcp.tools.arguments import Agent, UserId


def get_self_model(calls: Calls, agent: Agent = None, user_id: UserId = None) -> Graph:
    """Use at the start of a session: whom you work for, on what, towards which goals, with which tools, and what the user prefers."""
    who = calls.access
    return SelfModel(calls.alma, who.as_agent(agent), who.as_user(user_id)).read()


def update_self_model(
    calls: Calls,
    nodes: Annotated[list[NewNode] | None, Field(description="Nodes to add, or facts to add to known ones.")] = None,
    links: Annotated[list[NewLink] | None, Field(description="Relations between nodes, each named Type:name.")] = None,
    remove: Annotated[list[str] | None, Field(description="Nodes that no longer hold.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
) -> Graph:
    """Use when you learn something lasting about the user, a project, a goal or a tool. It is merged: the rest stays as it is.

    Preferences are kept by alma_add_preference.
    """
    who = calls.access
    update = Update(nodes=nodes or [], links=links or [], remove=remove or [])
    return SelfModel(calls.alma, who.as_agent(agent), who.as_user(user_id)).update(update)
