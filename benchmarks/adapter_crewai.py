"""A crew of CrewAI for `benchmarks.adapters`: one agent, one task."""

import logging
import os
from collections.abc import Sequence
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_TESTING": "true"}

from crewai import Agent as CrewAgent
from crewai import Crew, Task
from crewai.tools import tool

from alma import ALMA
from alma_crewai import ALMAMemory
from alma_crewai.testing import Message, ScriptedLLM, use
from benchmarks.adapters import Agent
from benchmarks.subject import AGENT

logging.getLogger("crewai").setLevel(logging.ERROR)


@tool("look")
def look(place: str) -> str:
    """Looks somewhere."""
    return f"nothing at {place}"


def plain() -> Agent:
    """The crew alone."""
    return _running(None)


def learning(alma: ALMA) -> Agent:
    """The crew with its memory."""
    return _running(ALMAMemory(alma))


def _running(memory: ALMAMemory | None) -> Agent:
    left = 0

    def script(messages: Sequence[Message]) -> Any:
        done = sum(message.get("role") == "tool" for message in messages)
        return use("look", place=f"place {done}") if done < left else "Done."

    def run(task: str, steps: int) -> None:
        nonlocal left
        left = steps
        worker = CrewAgent(role=AGENT, goal="look", backstory="none", llm=ScriptedLLM(script), tools=[look], max_iter=steps + 5)
        doing = Task(description=task, expected_output="what is there", agent=worker)
        Crew(agents=[worker], tasks=[doing], memory=memory).kickoff()
        if memory is not None and memory.errors:
            raise memory.errors[-1]

    return run
