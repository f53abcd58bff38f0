"""Runs a chain, a graph or an agent of LangChain in a harness of `alma-harness`, which begins the run and shows the notes."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs

from alma_integration import Run
from alma_langchain.handler import AsyncALMACallbackHandler
from alma_langchain.reading import final_answer
from alma_langchain.recorder import Recorder


def driven(agent: Runnable[Any, Any]) -> Callable[..., Any]:
    """Returns the function that runs it once and returns its last answer as text.

    It is given the prompt in the form that it takes: as a message, as `input`, or as a text.
    """

    async def run_agent(prompt: str, run: Run, config: RunnableConfig | None = None, **given: Any) -> str:
        own: RunnableConfig = {"callbacks": [AsyncALMACallbackHandler.over(Recorder.of(run))]}
        if run.thread_id:
            own["configurable"] = {"thread_id": run.thread_id}
        return final_answer(await agent.ainvoke(_input(agent, prompt), merge_configs(own, config), **given))

    return run_agent


def _input(agent: Runnable[Any, Any], prompt: str) -> Any:
    properties = agent.get_input_jsonschema().get("properties") or {}
    if "messages" in properties:
        return {"messages": [HumanMessage(prompt)]}
    return {next(iter(properties)): prompt} if len(properties) == 1 else {"input": prompt} if "input" in properties else prompt
