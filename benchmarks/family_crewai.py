"""A crew of CrewAI for `benchmarks.families`."""

import logging
import os
from collections.abc import Sequence
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_TESTING": "true"}

from crewai import Agent, Crew, Task
from crewai.tools import tool

from alma import ALMA
from alma_crewai import ALMAMemory
from alma_crewai.testing import Message, ScriptedLLM, use
from benchmarks.families import AGENT, Follower, Run, apply_for, look, went_well

logging.getLogger("crewai").setLevel(logging.ERROR)


def runner(alma: ALMA | None) -> Run:
    """Runs of the crew, with its memory or without."""
    now: list[Follower] = []
    memory = None if alma is None else ALMAMemory(alma, evaluator=went_well)
    tools = [tool("look")(look), tool("apply")(apply_for(lambda: now[-1]))]

    def script(messages: Sequence[Message]) -> Any:
        prompt = "\n".join(str(message.get("content") or "") for message in messages)
        results = [str(message.get("content") or "") for message in messages if message.get("role") == "tool"]
        said = now[-1].next(prompt, results)
        return said if isinstance(said, str) else use(said[0], **said[1])

    def go(task: str, follower: Follower) -> None:
        now[:] = [follower]
        worker = Agent(role=AGENT, goal="mend it", backstory="none", llm=ScriptedLLM(script), tools=tools, max_iter=8)
        doing = Task(description=task, expected_output="it works", agent=worker)
        Crew(agents=[worker], tasks=[doing], memory=memory).kickoff()
        if memory is not None and memory.errors:
            raise memory.errors[-1]

    return go
