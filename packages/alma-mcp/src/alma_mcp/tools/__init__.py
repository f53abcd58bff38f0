"""The tools: plain functions over a memory, by when an agent needs them, and the table of them all."""

from alma_mcp.tools.table import CORE, TOOLS, ToolSpec, in_profile

__all__ = ["CORE", "TOOLS", "ToolSpec", "in_profile"]
