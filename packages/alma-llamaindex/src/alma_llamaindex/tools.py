"""`ALMAToolSpec`: memory as tools, for agents that look things up and save things by themselves."""

from typing import Any, Unpack

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from alma import ALMA
from alma_integration import Identity, Toolkit, ToolkitArguments, check_identity
from alma_llamaindex.handler import HANDLER
from alma_llamaindex.spans import MEMORY_TOOLS


class ALMAToolSpec(BaseToolSpec):
    """Five tools for one agent: `recall_memory`, `check_action`, `save_fact`, `save_preference`, `forget_saved`.

    Give `to_tool_list()` to an agent. What is recalled this way has no tags and is not counted as used or ignored. `prefix` begins the
    names, for agents with several memories.
    """

    spec_functions = list(MEMORY_TOOLS)  # noqa: RUF012 - so the framework declares it

    def __init__(self, alma: ALMA, agent: Identity, **options: Unpack[ToolkitArguments]) -> None:
        check_identity(agent, "agent", is_optional=False)
        self._toolkit = Toolkit(alma, agent=agent, context=HANDLER.context_here, **options)

    def to_tool_list(self, *given: Any, **options: Any) -> list[FunctionTool]:
        return [
            FunctionTool.from_defaults(tool.call, tool.name, tool.description, fn_schema=tool.schema())
            for tool in self._toolkit.tools()
        ]
