"""Agents of other frameworks as the agent of a harness: finds the module that drives an object, by the class that it inherits."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from alma.errors import MissingDependencyError

DRIVERS = {
    ("pydantic_ai", "AbstractAgent"): "alma_harness.pydantic_ai_agent",
    ("agents", "Agent"): "alma_harness.openai_agent",
    ("smolagents", "MultiStepAgent"): "alma_harness.smolagents_agent",
    ("langchain_core", "Runnable"): "alma_langchain.harnessing",
    ("llama_index", "BaseWorkflowAgent"): "alma_llamaindex.harnessing",
    ("llama_index", "AgentWorkflow"): "alma_llamaindex.harnessing",
    ("llama_index", "BaseQueryEngine"): "alma_llamaindex.harnessing",
    ("crewai", "Crew"): "alma_crewai.harnessing",
    ("crewai", "BaseAgent"): "alma_crewai.harnessing",
}
"""The module that has `driven`, by the package and the class."""


def driven(agent: Any) -> Callable[..., Any] | None:
    """Returns the function that runs an agent of a known framework, called with the prompt and the `Run`; `None` for any other object.

    No framework is imported but that of the object. `MissingDependencyError` if its adapter is not installed.
    """
    for each in type(agent).__mro__:
        known = each.__module__.partition(".")[0], each.__name__
        if known in DRIVERS:
            found: Callable[..., Any] = _module(DRIVERS[known]).driven(agent)
            return found
    return None


def _module(name: str) -> Any:
    package = name.partition(".")[0]
    if find_spec(package) is None:
        distribution = package.replace("_", "-")
        raise MissingDependencyError(f"this agent needs {distribution}, which is not installed: pip install {distribution}")
    return import_module(name)
