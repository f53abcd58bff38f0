"""Finds the run of a LangGraph graph from one of its nodes, so that its end can be observed without observing any other run.

LangGraph calls no hook at the end of a run; only the callbacks of that run are called. The loop of the graph holds them, and is reached
here through a value that LangGraph puts into the configuration of its nodes. This is private: a version without it is warned of at import,
and then `graph_run` returns `None`. `tests/langchain/test_heard.py` checks the versions that are tested.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from alma_integration import check_parts

_CALL = "__pregel_call"
check_parts(
    "alma-langchain",
    "langgraph",
    (
        "langgraph._internal._constants:CONFIG_KEY_CALL",
        "langgraph.pregel._runner:_call(schedule_task)",
        "langgraph.pregel._loop:PregelLoop.accept_push",
        "langgraph.pregel._loop:PregelLoop.config",
        "langgraph.pregel._loop:PregelLoop.manager",
        "langgraph.callbacks:GraphCallbackHandler.on_interrupt",
        "langgraph.callbacks:GraphCallbackHandler.on_resume",
        "langgraph.errors:GraphBubbleUp",
        "langgraph.errors:ParentCommand",
        "langchain_core.callbacks:BaseCallbackManager(inheritable_handlers)",
    ),
)


@dataclass(frozen=True, slots=True)
class GraphRun:
    """One run of a graph. `manager` calls its callbacks; `run_id` is its own id, `root_id` that of the outermost graph around it."""

    manager: Any
    run_id: UUID
    root_id: UUID


def graph_run(config: Mapping[str, Any]) -> GraphRun | None:
    """Returns the run whose node has this configuration."""
    loop = _loop_of(config)
    manager = getattr(loop, "manager", None)
    if manager is None:
        return None
    outer, root_id = loop, manager.run_id
    while (outer := _loop_of(getattr(outer, "config", {}))) is not None and getattr(outer, "manager", None) is not None:
        root_id = outer.manager.run_id
    return GraphRun(manager, manager.run_id, root_id)


def _loop_of(config: Mapping[str, Any]) -> Any:
    call = (config.get("configurable") or {}).get(_CALL)
    return getattr((getattr(call, "keywords", None) or {}).get("schedule_task"), "__self__", None)
