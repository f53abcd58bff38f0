"""Three runs of a LangChain agent on one task, each better than the one before.

Where there is a key in OPENAI_API_KEY or ANTHROPIC_API_KEY and that provider's package (`pip install langchain-openai` or `langchain-anthropic`), a
real model does it. Else it is offline: the model follows a script that reads its notes, as a model would.
Needs `pip install "alma-langchain[agents]"`.
"""

import os
import re
import tempfile
from importlib.util import find_spec
from typing import Literal

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage

from alma import ALMA
from alma_langchain import ALMAMiddleware
from alma_langchain.testing import ScriptedChatModel

TASK = "Deploy the auth service to production"
WAYS = ("recreate", "rolling", "blue-green")
PROVIDERS = {"openai": "openai:gpt-5-mini", "anthropic": "anthropic:claude-sonnet-4-5"}


def deploy(way: Literal["recreate", "rolling", "blue-green"]) -> str:
    """Deploys the auth service."""
    problems = {"recreate": "every user was logged out", "rolling": "502 while old and new pods answered side by side"}
    if way in problems:
        raise RuntimeError(f"rolled back: {problems[way]}")
    return f"deployed {way}: healthy"


def script(messages):
    """Takes the first way that its notes do not tell a failure of."""
    if isinstance(messages[-1], ToolMessage):
        return "Deployed; I went by [O1]." if "healthy" in messages[-1].text else "I could not."
    failed = re.findall(r'Failed[^\n]*way="([\w-]+)"', messages[1].text)
    return "deploy", {"way": next(way for way in WAYS if way not in failed)}


def chat_model():
    """A real model, if there is a key and a package for one; else the script."""
    for provider, name in PROVIDERS.items():
        if os.environ.get(f"{provider.upper()}_API_KEY") and find_spec(f"langchain_{provider}"):
            return init_chat_model(name)
    return ScriptedChatModel(script=script)


def judge(run):
    """The run is a success if the deployment is healthy, whatever the agent says of it."""
    return any(isinstance(message, ToolMessage) and "healthy" in message.text for message in run.messages)


with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop") as alma:
    memory = ALMAMiddleware(alma, agent="deployer", evaluator=judge)
    model = chat_model()
    agent = create_agent(model, [deploy], system_prompt="Deploy in one call of the tool.", middleware=[memory])
    for number in (1, 2, 3):
        try:
            said = agent.invoke({"messages": [("user", TASK)]})["messages"][-1].text
        except RuntimeError as problem:
            said = f"stopped by {problem}"
        print(f"run {number}: {said}\n       {memory.last_run}")
    print(f"\n{alma.retrieve(task=TASK, agent='deployer').to_prompt()}\n\n{alma.strategies(task=TASK, agent='deployer')}")
    assert not isinstance(model, ScriptedChatModel) or memory.last_run.outcome == "success"
