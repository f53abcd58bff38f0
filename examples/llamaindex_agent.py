"""A LlamaIndex agent that fails, is told so by its own memory, and does better. Offline: the model follows a script.

Needs `pip install alma-llamaindex`.
"""

import asyncio
import tempfile

from llama_index.core.agent.workflow import FunctionAgent

from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM

TASK = "Deploy the auth service"


def deploy(way: str) -> str:
    """Deploys the auth service in one of two ways: rolling or blue-green."""
    if way == "rolling":
        raise RuntimeError("502 while the pods were replaced")
    return "the auth service is live"


def model(messages):
    """Plays a model that reads its prompt: it deploys the rolling way, unless its notes say that this failed."""
    if messages[-1].role == "tool":
        return f"Result: {messages[-1].content}"
    notes = "\n".join(message.content or "" for message in messages)
    return [("deploy", {"way": "blue-green" if "rolling" in notes else "rolling"})]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        for number in (1, 2):
            agent = FunctionAgent(name="backend-dev", llm=ScriptedLLM(model), tools=[deploy])
            memory = ALMAMemory.from_defaults(alma, agent="backend-dev", evaluator=lambda run: "live" in run.output)
            print(f"run {number}: {await agent.run(user_msg=TASK, memory=memory)}")
            print("  prompt:", agent.llm.prompts[0][-1].content.replace("\n", "\n  "))
        memory.learner.flush()
        for record in reversed(alma.recent_episodes()):
            print(f"{record.outcome}: {[(step.action, step.ok) for step in record.steps]}")


asyncio.run(main())
