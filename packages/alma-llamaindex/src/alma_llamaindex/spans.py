"""Reads LlamaIndex's spans. The only module that knows their names and contents; a contract test checks it against the installed version.

The agent events of `llama_index.core.instrumentation.events.agent` are declared but never sent, and a run's stream belongs to its user.
Spans carry whole objects, in both ways of streaming, also when a run fails.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from inspect import BoundArguments
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.base.response.schema import AsyncStreamingResponse, PydanticResponse, Response, StreamingResponse
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine, StreamingAgentChatResponse
from llama_index.core.schema import QueryBundle
from workflows.context.serializers import JsonSerializer
from workflows.events import StartEvent, StopEvent

from alma_integration import check_parts

HANDOFF = "handoff"
"""Tool by which one agent of a workflow hands the run to another."""
MEMORY_TOOLS = ("recall_memory", "check_action", "save_fact", "save_preference", "forget_saved")
"""Tools of `ALMAToolSpec`, without their prefix."""
QUERIES = ("query", "aquery")
CHATS = ("chat", "achat", "stream_chat", "astream_chat")
ENGINES = (*QUERIES, *CHATS)
"""Methods of engines that answer, with a prompt of their own."""
BEGINNINGS = ("run", *ENGINES)
HISTORY = ("write_response_to_history", "awrite_response_to_history")
"""Methods in which a chat engine reads its stream to the end; their instance is the response."""
TOOLS = ("call", "acall")
BEGIN = "init_run"
"""First step of an agent's run, which puts the run's memory into the store of its context."""
TURN = "run_agent_step"
"""An agent's turn. A run that began with a message has asked its memory before the first one."""
TOOL_CALL = "call_tool"
"""An agent's call of a tool. Spans inside it belong to the tool."""

check_parts(
    "alma-llamaindex",
    "llama-index-core",
    (
        *(
            f"llama_index.core.agent.workflow:{each}.{name}"
            for each in ("FunctionAgent", "AgentWorkflow")
            for name in (TURN, TOOL_CALL)
        ),
        *(f"llama_index.core.chat_engine.types:StreamingAgentChatResponse.{name}" for name in HISTORY),
        *(f"llama_index.core.base.base_query_engine:BaseQueryEngine.{name}" for name in QUERIES),
        *(f"llama_index.core.chat_engine.types:BaseChatEngine.{name}" for name in CHATS),
        *(f"llama_index.core.tools:FunctionTool.{name}" for name in TOOLS),
        "llama_index.core.chat_engine:ContextChatEngine(retriever)",
        "llama_index.core.agent.workflow:AgentOutput.tool_calls",
        "llama_index.core.agent.workflow:ToolCallResult.tool_kwargs",
        "llama_index.core.instrumentation.span:active_span_id",
    ),
)
check_parts(
    "alma-llamaindex",
    "llama-index-workflows",
    ("workflows.runtime.types.results:WaitingForEvent", "workflows.handler:WorkflowHandler._handle_result_task_done"),
)

Streamed = StreamingResponse | AsyncStreamingResponse | StreamingAgentChatResponse
"""An answer that its user has still to read."""


class Kind(Enum):
    """Kind of a run."""

    AGENT = "an agent"
    WORKFLOW = "a workflow of agents"
    QUERY = "a query engine"
    CHAT = "a chat engine"
    CUSTOM = "code of the user's own"


def method(span_id: str) -> str:
    """Returns the method name of a span: `FunctionAgent.run-<uuid>`."""
    return span_id.partition("-")[0].rpartition(".")[2]


def kind_of(name: str, instance: object) -> Kind | None:
    """Returns the kind of run that begins with the span of this method."""
    if name == "run" and isinstance(instance, AgentWorkflow | BaseWorkflowAgent):
        return Kind.WORKFLOW if isinstance(instance, AgentWorkflow) else Kind.AGENT
    if name in QUERIES and isinstance(instance, BaseQueryEngine):
        return Kind.QUERY
    return Kind.CHAT if name in CHATS and isinstance(instance, BaseChatEngine) else None


def first_agent(instance: object) -> str:
    """Returns LlamaIndex's name of the agent that a run begins with; of an engine, the name of its class."""
    if isinstance(instance, AgentWorkflow):
        return instance.root_agent
    return instance.name if isinstance(instance, BaseWorkflowAgent) else type(instance).__name__


def asked(bound_args: BoundArguments) -> str:
    """Returns the message or the question that a run begins with; "" if it continues an earlier one."""
    given = bound_args.arguments
    if "start_event" not in given:
        question = given.get("str_or_query_bundle", given.get("message", ""))
        return question.query_str if isinstance(question, QueryBundle) else str(question)
    message = about(bound_args).get("user_msg")
    if isinstance(message, ChatMessage):
        return message.content or ""
    return str(message) if message else last_user_text(about(bound_args).get("chat_history", []))


def about(bound_args: BoundArguments) -> Mapping[str, Any]:
    """Returns all arguments of `run`: `agent.run(user_msg=…, user_id="ann")`."""
    start = bound_args.arguments.get("start_event")
    return {} if start is None else {name: value for name, value in start.items() if value is not None}


def has_retriever(instance: object) -> bool:
    """Returns True for a chat engine whose prompt receives the results of an `ALMARetriever`."""
    return isinstance(instance, BaseChatEngine) and getattr(getattr(instance, "_retriever", None), "shows_notes", False)


def feedback(bound_args: BoundArguments) -> str | None:
    """Returns why an evaluator sent an answer back, if this is the span in which a query engine changes its question accordingly."""
    metadata = bound_args.arguments.get("metadata")
    evaluation = metadata.get("evaluation") if isinstance(metadata, Mapping) else None
    said = getattr(evaluation, "feedback", None)
    return str(said) if said else None


def speaker(bound_args: BoundArguments) -> str | None:
    """Returns LlamaIndex's name of the agent whose turn a step is, where the step names it."""
    name = getattr(bound_args.arguments.get("ev"), "current_agent_name", None)
    return name if isinstance(name, str) else None


def give_memory(bound_args: BoundArguments, key: str, memories: Mapping[str, Any]) -> None:
    """Gives a run without a memory the one that the store of its context names under `key`, before its first step. LlamaIndex would make a
    new one: it keeps no memory of this kind from run to run of one context."""
    start, store = bound_args.arguments.get("ev"), getattr(bound_args.arguments.get("ctx"), "store", None)
    if store is None or not isinstance(start, StartEvent) or start.get("memory", None) is not None:
        return
    serializer, name = JsonSerializer(), ""
    with (
        suppress(KeyError, TypeError, ValueError),
        warnings.catch_warnings(action="ignore"),
    ):  # it holds what cannot be serialised
        name = serializer.deserialize(store.to_dict(serializer)["state_data"]["_data"][key])
    if (memory := memories.get(name)) is not None:
        start["memory"] = memory


async def next_speaker(context: Any) -> str | None:
    """Returns the agent that a workflow is going to ask next. Also exact in the middle of a hand-off, when no step has named it yet."""
    return await context.store.get("current_agent_name", default=None) if context is not None else None


def result_of(result: object) -> object:
    """Returns LlamaIndex's own object of a result: an agent's output is wrapped in a StopEvent."""
    return result.result if isinstance(result, StopEvent) else result


def output_of(result: object) -> str:
    """Returns the text of a final answer."""
    result = result_of(result)
    if isinstance(result, AgentOutput):
        return result.response.content or ""
    if isinstance(result, StreamingAgentChatResponse):
        return result.response
    return str(result) if isinstance(result, Response | PydanticResponse | AgentChatResponse | str) else ""


def change_answer(result: object, change: Any) -> None:
    """Changes the text of a final answer in place, before its user receives it."""
    result = result_of(result)
    if isinstance(result, AgentOutput):
        result.response = result.response.model_copy(deep=True)
        change_texts(result.response, change)
    elif isinstance(result, Response | AgentChatResponse) and isinstance(result.response, str):
        result.response = change(result.response)


def change_texts(message: Any, change: Any) -> None:
    """Changes the texts of a message in place."""
    for block in message.blocks:
        if isinstance(block, TextBlock):
            block.text = change(block.text)


def last_user_text(messages: Sequence[ChatMessage]) -> str:
    """Returns the text of the last message of the user; the last message of all may be the assistant's."""
    return next((message.content or "" for message in reversed(messages) if message.role == MessageRole.USER), "")
