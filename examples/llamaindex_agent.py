"""Three runs of a LlamaIndex agent on one task, each better than the one before.

Offline: the model follows a script that reads its notes, as a model would.
Needs `pip install alma-llamaindex`.
"""

import asyncio
import re
import tempfile

from llama_index.core.agent.workflow import FunctionAgent

from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM

TASK = "Deploy the auth service to production"
WAYS = ("recreate", "rolling", "blue-green")


def deploy(way: str) -> str:
    """Deploys the auth service in one of three ways: recreate, rolling or blue-green."""
    problems = {"recreate": "every user was logged out", "rolling": "502 while old and new pods answered side by side"}
    if way in problems:
        raise RuntimeError(f"rolled back: {problems[way]}")
    return f"deployed {way}: healthy"


def script(messages):
    """Takes the first way that its notes do not tell a failure of."""
    if messages[-1].role == "tool":
        return "Deployed; I went by [S1]." if "healthy" in messages[-1].content else f"I could not: {messages[-1].content}."
    failed = re.findall(r'way="([\w-]+)"\): failed', messages[-1].content)
    return [("deploy", {"way": next(way for way in WAYS if way not in failed)})]


def judge(run):
    """The run is a success if the deployment is healthy, whatever the agent says of it; else a failure, and this is why."""
    done = run.steps[-1]
    return ("success" if done.ok else "failure"), done.output or done.error


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        outcomes = []
        for number in (1, 2, 3):
            agent = FunctionAgent(name="deployer", llm=ScriptedLLM(script), tools=[deploy])
            memory = ALMAMemory.from_defaults(alma, agent="deployer", evaluator=judge)
            print(f"run {number}: {await agent.run(user_msg=TASK, memory=memory)}")
            await memory.learner.aflush()  # the next run would wait for it by itself
            run = memory.learner.last_run
            print(f"       {[step.action for step in run.episodes[0].steps]}: {run.outcome}")
            outcomes.append(run.outcome)
        notes = alma.retrieve(task=TASK, agent="deployer").to_prompt()
        print(f"\n{notes}\n\n{alma.strategies(task=TASK, agent='deployer')}")
        assert outcomes == ["failure", "failure", "success"]
        assert [f'way="{way}"' in notes for way in WAYS] == [True, True, True]


asyncio.run(main())
