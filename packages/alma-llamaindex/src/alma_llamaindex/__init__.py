"""ALMA for LlamaIndex: agents that see the lessons of earlier runs, and whose runs are learned from."""

from alma_integration import RunReport, RunView, ToolStep, ToolUse, named_call, strategy_of, tools_succeeded
from alma_llamaindex.block import ALMAMemoryBlock
from alma_llamaindex.custom import alma_run, recorded
from alma_llamaindex.learner import ALMALearner, instrument_alma
from alma_llamaindex.memory import ALMAMemory
from alma_llamaindex.postprocessor import ALMAUsagePostprocessor
from alma_llamaindex.retriever import ALMARetriever
from alma_llamaindex.tools import ALMAToolSpec

AgentRun = RunView
"""Argument of evaluators, under its name in this package."""

__all__ = [
    "ALMALearner",
    "ALMAMemory",
    "ALMAMemoryBlock",
    "ALMARetriever",
    "ALMAToolSpec",
    "ALMAUsagePostprocessor",
    "AgentRun",
    "RunReport",
    "RunView",
    "ToolStep",
    "ToolUse",
    "__version__",
    "alma_run",
    "instrument_alma",
    "named_call",
    "recorded",
    "strategy_of",
    "tools_succeeded",
]

__version__ = "0.1.0"
