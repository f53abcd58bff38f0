"""`alma.harness`: any agent in a fixed setting, with memory before each run and learning after it."""

from alma_harness.chat import remembered_client
from alma_harness.harnesses import Harness, create_harness
from alma_harness.setting import Context, MemorySchema, RunResult, Setting
from alma_harness.tools import recorded_tool

__all__ = ["Context", "Harness", "MemorySchema", "RunResult", "Setting", "create_harness", "recorded_tool", "remembered_client"]
