"""A run that waits for a person in one process and goes on in another: `llama_interrupted.py PART STORE CONTEXT`."""

import asyncio
import json
import sys
from pathlib import Path

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonPickleSerializer

from alma import ALMA
from alma_llamaindex import ALMAMemory, instrument_alma
from alma_llamaindex.testing import ScriptedLLM
from alma_testing.contracts.integration import REFUSED, TASK, WORKER


async def deploy(ctx: Context, way: str) -> str:
    """Deploys the service in this way."""
    if way == "rolling":
        raise RuntimeError(REFUSED)
    await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?"))
    return f"live by {way}"


def agent_of(*script: object) -> FunctionAgent:
    return FunctionAgent(name=WORKER, llm=ScriptedLLM(list(script)), tools=[deploy])


async def waits(alma: ALMA) -> str:
    agent = agent_of([("deploy", {"way": "rolling"})], [("deploy", {"way": "blue-green"})])
    handler = agent.run(user_msg=TASK, memory=ALMAMemory.from_defaults(alma, WORKER))
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            break
    return json.dumps(handler.ctx.to_dict(serializer=JsonPickleSerializer()))


async def goes_on(alma: ALMA, written: str) -> None:
    with instrument_alma(alma):
        agent = agent_of("It is live.")
        context = Context.from_dict(agent, json.loads(written), serializer=JsonPickleSerializer())
        handler = agent.run(ctx=context)
        handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler


if __name__ == "__main__":
    part, store, context = sys.argv[1:]
    opened = ALMA.open(store, project_id="contract", embedding_provider="hash")
    if part == "waits":
        Path(context).write_text(asyncio.run(waits(opened)))
    else:
        asyncio.run(goes_on(opened, Path(context).read_text()))
        opened.close()
