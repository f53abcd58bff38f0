"""A CrewAI crew whose first idea fails, is told so by its own memory, and does better. Offline: the model follows a script.

Needs `pip install alma-crewai`.
"""

import os
import tempfile

# Before CrewAI is imported: it tells nobody of this, and keeps its own files out of the way.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_STORAGE_DIR": tempfile.mkdtemp(prefix="alma-crewai-"),
}

from crewai import Agent, Crew, Task
from crewai.tools import tool

from alma import ALMA
from alma_crewai import ALMAMemory
from alma_crewai.testing import ScriptedLLM, use


@tool("deploy")
def deploy(way: str) -> str:
    """Deploys the auth service in one of two ways: rolling or blue-green."""
    if way == "rolling":
        raise RuntimeError("502 while the pods were replaced")
    return "the auth service is live"


def model(messages):
    """Plays a model that reads its prompt: it deploys the rolling way, unless its notes say that this failed."""
    if messages[-1]["role"] == "tool":
        return f"Result: {messages[-1]['content']}"
    notes = "\n".join(str(message["content"]) for message in messages)
    return use("deploy", way="blue-green" if "rolling" in notes else "rolling")


with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
    memory = ALMAMemory(alma, evaluator=lambda run: "live" in run.answer)
    for number in (1, 2):
        llm = ScriptedLLM(model)
        developer = Agent(role="backend-dev", goal="ship", backstory="careful", llm=llm, tools=[deploy])
        deploying = Task(description="Deploy the auth service", expected_output="what came of it", agent=developer)
        print(f"run {number}: {Crew(agents=[developer], tasks=[deploying], memory=memory).kickoff()}")
        for line in llm.prompt().splitlines():
            if line.startswith(("[A", "[O")):
                print(f"  was told: {line}")
    for record in reversed(alma.recent_episodes()):
        print(f"{record.outcome}: {[(step.action, step.ok) for step in record.steps]}")
    assert [str(record.outcome) for record in alma.recent_episodes()] == ["success", "failure"]
