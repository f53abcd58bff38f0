"""Crews, agents and tools around a scripted chat model. CrewAI sends no telemetry."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

for name in (
    "CREWAI_DISABLE_TELEMETRY",
    "CREWAI_DISABLE_TRACKING",
    "CREWAI_DISABLE_VERSION_CHECK",
    "OTEL_SDK_DISABLED",
    "CREWAI_TESTING",
):
    os.environ[name] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ.pop("OPENAI_API_KEY", None)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # CrewAI's own imports: nothing that a user of ALMA could mend
    from crewai import Agent, Crew, Task
    from crewai.events.event_bus import crewai_event_bus
    from crewai.llms.base_llm import BaseLLM
    from crewai.tools import tool

    from alma_crewai import ALMAMemory
    from alma_crewai.testing import Message, ScriptedLLM, use

__all__ = ["ALMAMemory", "Message", "ScriptedLLM", "agent", "bad_tool", "crew", "crewai_event_bus", "good_tool", "task", "use"]


def agent(llm: BaseLLM, role: str = "Coder", *, tools: Sequence[Any] = (), **settings: Any) -> Agent:
    return Agent(role=role, goal="help", backstory="none", llm=llm, tools=list(tools), verbose=False, **settings)


def task(description: str, worker: Agent | None = None, **settings: Any) -> Task:
    return Task(description=description, expected_output="an answer", agent=worker, **settings)


def crew(*tasks: Task, **settings: Any) -> Crew:
    agents: list[Any] = []
    for each in tasks:
        if each.agent is not None and not any(each.agent is known for known in agents):
            agents.append(each.agent)
    return Crew(agents=settings.pop("agents", agents), tasks=list(tasks), verbose=False, **settings)


@tool("good_tool")
def good_tool(text: str) -> str:
    """Works."""
    return f"fine: {text}"


@tool("bad_tool")
def bad_tool(text: str) -> str:
    """Breaks."""
    raise RuntimeError("boom")
