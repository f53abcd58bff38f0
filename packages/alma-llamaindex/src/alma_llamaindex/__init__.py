"""ALMA for LlamaIndex: agents that are shown what earlier runs taught, and whose runs are learned from."""

from alma_llamaindex.block import ALMAMemoryBlock
from alma_llamaindex.learner import ALMALearner, instrument_alma
from alma_llamaindex.memory import ALMAMemory
from alma_llamaindex.postprocessor import ALMAUsagePostprocessor
from alma_llamaindex.retriever import ALMARetriever
from alma_llamaindex.runs import AgentRun, ToolStep, calls_in_order, told_call
from alma_llamaindex.tools import ALMAToolSpec

__all__ = [
    "ALMALearner",
    "ALMAMemory",
    "ALMAMemoryBlock",
    "ALMARetriever",
    "ALMAToolSpec",
    "ALMAUsagePostprocessor",
    "AgentRun",
    "ToolStep",
    "__version__",
    "calls_in_order",
    "instrument_alma",
    "told_call",
]

__version__ = "0.1.0"
