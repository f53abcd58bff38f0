"""ALMA as tools, for agents that decide themselves when to read and what to store."""

from typing import Unpack

from langchain_core.tools import BaseTool, StructuredTool

from alma import ALMA
from alma_integration import Identity, Toolkit, ToolkitArguments
from alma_langchain.recorder import OWN_TOOLS, run_context


def create_alma_tools(alma: ALMA, *, agent: Identity, **options: Unpack[ToolkitArguments]) -> list[BaseTool]:
    """Returns five tools: `recall_memory`, `check_action`, `save_fact`, `save_preference` and `forget_saved`.

    Their calls are no steps of the agent's work. Options are those of `alma.integration.Toolkit`: `prefix` begins their names, `redact`
    is applied to texts that are saved and searched for. Errors of ALMA are logged, and the agent gets a text; `on_error="raise"` raises
    them into the agent.
    """
    tools = Toolkit(alma, agent=agent, context=run_context, **options).tools()
    return [
        StructuredTool.from_function(tool.call, None, tool.name, tool.description, args_schema=tool.schema(), tags=[OWN_TOOLS])
        for tool in tools
    ]
