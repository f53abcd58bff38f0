"""ALMA's tools for agents that read and write memory themselves, as tools of CrewAI."""

from dataclasses import replace
from typing import Unpack

from crewai.tools import BaseTool
from crewai.utilities.string_utils import sanitize_tool_name
from pydantic import PrivateAttr

from alma import ALMA
from alma_crewai.actors import role_of
from alma_crewai.attempt import current
from alma_crewai.calls import OWN_TOOLS
from alma_crewai.records import Sight
from alma_integration import Identity, RunContext, Tool, Toolkit, ToolkitArguments

READING = ("recall_memory", "check_action")
IN_A_TEST = "Noted for this test alone."
"""Answer to an agent in `crew.test`, which does not change the memory."""


class ALMATool(BaseTool):
    """One of ALMA's tools. `alma_tools` creates them."""

    _tool: Tool = PrivateAttr()

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description, args_schema=tool.schema())
        self._tool = tool
        OWN_TOOLS.add(sanitize_tool_name(tool.name))

    def _run(self, **given: str) -> str:
        attempt = current()
        is_rehearsed = attempt is not None and attempt.is_rehearsal
        return IN_A_TEST if is_rehearsed and not self._tool.name.endswith(READING) else self._tool.call(**given)


class ALMARecallTool(ALMATool):
    """Looks up what one agent knows: `ALMARecallTool(alma, agent="Researcher")`. Private notes are shown to their source only."""

    def __init__(self, alma: ALMA, *, agent: Identity = None, **settings: Unpack[ToolkitArguments]) -> None:
        super().__init__(_tools(alma, agent, settings)[0])


class ALMARememberTool(ALMATool):
    """Stores a fact as the knowledge of one agent: `ALMARememberTool(alma, agent="Researcher")`."""

    def __init__(self, alma: ALMA, *, agent: Identity = None, **settings: Unpack[ToolkitArguments]) -> None:
        super().__init__(_tools(alma, agent, settings)[2])


def alma_tools(alma: ALMA, *, agent: Identity = None, **settings: Unpack[ToolkitArguments]) -> list[BaseTool]:
    """Returns all five tools: recall, check an action, save a fact, save a preference, forget one of these.

    They take the options of `alma.integration.Toolkit`. Without an `agent`, they are those of the acting agent. Private notes are shown
    to their source only.
    """
    return [ALMATool(tool) for tool in _tools(alma, agent, settings)]


def _tools(alma: ALMA, agent: Identity, settings: ToolkitArguments) -> list[Tool]:
    named = _acting if agent is None else agent
    kit = Toolkit(alma, agent=named, context=_context, shows=lambda memory, user: Sight(source=user).has(memory), **settings)
    return kit.tools()


def _context() -> RunContext:
    """Returns the context of a call. The user and the tenant of the crew's memory count, unless the tool has its own."""
    attempt = current()
    if attempt is None:
        return RunContext()
    own = attempt.run.context
    return replace(own, pinned={}, configurable={name: value for name, value in own.pinned.items() if value is not None})


def _acting(context: RunContext) -> str:
    attempt = current()
    return attempt.agent if attempt is not None else role_of(context)
