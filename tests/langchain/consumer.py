"""A user's code, which a type checker has to take as strictly as it can. Not run."""

from langchain.agents import create_agent
from langchain_core.tools import tool

from alma import ALMA, MemorySlice
from alma_langchain import (
    ALMACallbackHandler,
    ALMAMemory,
    ALMAMiddleware,
    ALMARetriever,
    AsyncALMACallbackHandler,
    FinishedRun,
    RunContext,
    create_alma_tools,
    memory_to_documents,
    tool_with_arguments,
    tools_succeeded,
)
from alma_langchain.testing import ScriptedChatModel


@tool
def deploy(way: str) -> str:
    """Deploys."""
    return way


def judge(run: FinishedRun) -> bool:
    return "live" in run.answer


def user(context: RunContext) -> str | None:
    found = context.find("user_id")
    return None if found is None else str(found)


def build(alma: ALMA) -> str:
    learning = ALMAMiddleware(alma, agent="dev", evaluator=judge, user_id=user, action=tool_with_arguments, on_error="raise")
    first, last = learning.split()
    agent = create_agent(
        ScriptedChatModel(script=["Done."]), [deploy, *create_alma_tools(alma, agent="dev")], middleware=[first, last]
    )
    handlers = [ALMACallbackHandler(alma, agent="dev", evaluator=tools_succeeded), AsyncALMACallbackHandler(alma, agent="dev")]
    agent.invoke({"messages": [{"role": "user", "content": "Deploy"}]}, {"callbacks": list(handlers)})
    memory = ALMAMemory(alma, agent="dev", memory_key="history")
    retriever: ALMARetriever = memory.as_retriever(k=3)
    found: MemorySlice = alma.retrieve("Deploy", "dev")
    documents = [*memory_to_documents(found), *retriever.invoke("Deploy")]
    return f"{len(documents)} {learning.last_run} {memory.errors}"
