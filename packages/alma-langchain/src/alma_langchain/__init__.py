"""ALMA for LangChain: agents that learn from what their steps and runs came to.

Importing this module loads neither LangChain nor LangGraph; what a name needs is loaded when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_langchain.choices import ToolUse, tool_with_arguments, tool_with_choices
    from alma_langchain.documents import memory_to_documents
    from alma_langchain.handler import ALMACallbackHandler, AsyncALMACallbackHandler
    from alma_langchain.memory import ALMAMemory
    from alma_langchain.middleware import ALMAMiddleware
    from alma_langchain.retriever import ALMARetriever
    from alma_langchain.run import FinishedRun, RunReport, tools_succeeded
    from alma_langchain.settings import RunContext
    from alma_langchain.tools import create_alma_tools

__version__ = "0.1.0"

_HOMES = {
    "ALMACallbackHandler": "handler",
    "ALMAMemory": "memory",
    "ALMAMiddleware": "middleware",
    "ALMARetriever": "retriever",
    "AsyncALMACallbackHandler": "handler",
    "FinishedRun": "run",
    "RunContext": "settings",
    "RunReport": "run",
    "create_alma_tools": "tools",
    "memory_to_documents": "documents",
    "ToolUse": "choices",
    "tool_with_arguments": "choices",
    "tool_with_choices": "choices",
    "tools_succeeded": "run",
}

__all__ = [
    "ALMACallbackHandler",
    "ALMAMemory",
    "ALMAMiddleware",
    "ALMARetriever",
    "AsyncALMACallbackHandler",
    "FinishedRun",
    "RunContext",
    "RunReport",
    "ToolUse",
    "create_alma_tools",
    "memory_to_documents",
    "tool_with_arguments",
    "tool_with_choices",
    "tools_succeeded",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'alma_langchain' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_langchain.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
