"""Resources: the configuration, the agents, single memories, and wake-up texts."""

import json
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from alma.errors import AlmaError, MemoryNotFoundError, ValidationError
from alma_access import ANY
from alma_mcp.calls import Calls
from alma_mcp.tools.upkeep import USER_PREFIX, readable

JSON = "application/json"


def add_resources(server: "MCPServer[Any]", calls: Calls) -> None:
    """Adds `alma://config`, `alma://agents`, `alma://memory/{id}` and `alma://wakeup/{agent}` to a server."""

    @server.resource(
        "alma://config",
        name="config",
        title="Configuration",
        description="The project, the embedder, and whom this client acts as. No secrets.",
        mime_type=JSON,
    )
    def config() -> str:
        return _json(lambda: _config(calls))

    @server.resource(
        "alma://agents",
        name="agents",
        title="Agents",
        description="The configured agents with their rules, and how much each has stored.",
        mime_type=JSON,
    )
    def agents() -> str:
        return _json(lambda: _agents(calls))

    @server.resource(
        "alma://memory/{memory_id}",
        name="memory",
        title="A memory",
        description="One memory that this client may read, whole.",
        mime_type=JSON,
    )
    def memory(memory_id: str) -> str:
        return _json(lambda: readable(calls.alma, memory_id, calls.access_to("read")))

    @server.resource(
        "alma://wakeup/{agent}",
        name="wakeup",
        title="Wake-up",
        description="What an agent needs at the start of a session: lessons, its last hand-off, preferences.",
        mime_type="text/plain",
    )
    def wakeup(agent: str) -> str:
        return _answered(lambda: _wakeup(calls, agent))


def _wakeup(calls: Calls, agent: str) -> str:
    who = calls.access_to("read")
    return calls.alma.wakeup(who.as_agent(agent), who.as_user(None))


def _config(calls: Calls) -> dict[str, Any]:
    found = calls.alma.get_stats()
    return {"project_id": found.project_id, "embedder": found.embedder, "acts_as": str(calls.access)}


def _agents(calls: Calls) -> dict[str, Any]:
    who = calls.access_to("read")
    own = who.agent
    rules, counts = calls.alma.agents, calls.alma.get_stats(None if own == ANY else own, users=who.users).by_agent
    names = sorted({*rules, *counts} if own == ANY else {own})
    return {
        name: {"rules": rules[name].model_dump(mode="json") if name in rules else None, "memories": counts.get(name, {})}
        for name in names
        if own != ANY or not name.startswith(USER_PREFIX)
    }


def _json(read: Callable[[], dict[str, Any]]) -> str:
    return _answered(lambda: json.dumps(read(), ensure_ascii=False))


def _answered(read: Callable[[], str]) -> str:
    try:
        return read()
    except (MemoryNotFoundError, ValidationError) as error:
        raise ResourceNotFoundError(str(error)) from error
    except AlmaError as error:
        raise ResourceError(str(error)) from error
