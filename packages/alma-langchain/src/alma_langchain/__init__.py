"""ALMA for LangChain: agents that learn from the outcomes of their steps and runs.

Importing this module loads neither LangChain nor LangGraph; the module behind a name is loaded when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alma_integration import RunContext, RunReport, RunView, ToolUse, tools_succeeded
from alma_integration import RunView as FinishedRun
from alma_integration import call_with_arguments as tool_with_arguments
from alma_integration import call_with_choices as tool_with_choices

if TYPE_CHECKING:
    from alma_langchain.handler import ALMACallbackHandler, AsyncALMACallbackHandler
    from alma_langchain.memory import ALMAMemory
    from alma_langchain.middleware import ALMAMiddleware
    from alma_langchain.retriever import ALMARetriever, format_notes, memory_to_documents
    from alma_langchain.tools import create_alma_tools

__version__ = "0.1.0"

__all__ = [
    "ALMACallbackHandler",
    "ALMAMemory",
    "ALMAMiddleware",
    "ALMARetriever",
    "AsyncALMACallbackHandler",
    "FinishedRun",
    "RunContext",
    "RunReport",
    "RunView",
    "ToolUse",
    "create_alma_tools",
    "format_notes",
    "memory_to_documents",
    "tool_with_arguments",
    "tool_with_choices",
    "tools_succeeded",
]
_HOMES = {
    "ALMACallbackHandler": "handler",
    "ALMAMemory": "memory",
    "ALMAMiddleware": "middleware",
    "ALMARetriever": "retriever",
    "AsyncALMACallbackHandler": "handler",
    "create_alma_tools": "tools",
    "format_notes": "retriever",
    "memory_to_documents": "retriever",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_langchain' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_langchain.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
