"""What LlamaIndex's spans say. The only place that knows how they are named and what they carry; a contract test holds it to the installed version.

The agent events of `llama_index.core.instrumentation.events.agent` are declared but never sent, and a run's stream belongs to its user. Spans carry
whole objects, in both ways of streaming, also when a run fails.
"""

from collections.abc import Sequence
from inspect import BoundArguments
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, ToolCallResult
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.schema import QueryBundle

HANDOFF = "handoff"
"""The tool by which one agent of a workflow gives the run to another."""
RECALL, REMEMBER = "recall_lessons", "remember_fact"
"""The tools of `ALMAToolSpec`."""
_NOT_TRIED = {HANDOFF, RECALL, REMEMBER}
_BEGINNINGS = {"run", "query", "aquery"}


def first_agent(span_id: str, instance: object) -> str | None:
    """LlamaIndex's name of the agent that a run begins with, if this is the span of a run of an agent or an agent workflow."""
    if _method(span_id) != "run":
        return None
    if isinstance(instance, AgentWorkflow):
        return instance.root_agent
    return instance.name if isinstance(instance, BaseWorkflowAgent) else None


def is_workflow(instance: object) -> bool:
    """Whether a run of it may go from one agent to another."""
    return isinstance(instance, AgentWorkflow)


def may_begin(span_id: str) -> bool:
    """Whether a run can begin with this span, by its name alone."""
    return _method(span_id) in _BEGINNINGS


def is_turn(span_id: str) -> bool:
    """Whether this is the span of an agent's turn. A run that began with a message has asked its memory before the first one."""
    return _method(span_id) == "run_agent_step"


def is_tool_call(span_id: str) -> bool:
    """Whether this is the span of a tool's call. What is inside of it is the tool's own affair."""
    return _method(span_id) == "call_tool"


def asked(bound_args: BoundArguments) -> str:
    """The user's message that a run begins with; "" if it goes on from an earlier one."""
    start = bound_args.arguments.get("start_event")
    if start is None:
        return ""
    message = start.get("user_msg", None)
    if isinstance(message, ChatMessage):
        return text_of(message)
    return str(message) if message else last_user_text(start.get("chat_history", None) or [])


def query(span_id: str, instance: object, bound_args: BoundArguments) -> str | None:
    """The question, if this is the span of a query engine that is asked one."""
    if _method(span_id) not in ("query", "aquery") or not isinstance(instance, BaseQueryEngine):
        return None
    question = bound_args.arguments.get("str_or_query_bundle")
    return question.query_str if isinstance(question, QueryBundle) else str(question)


def speaker(bound_args: BoundArguments) -> str | None:
    """LlamaIndex's name of the agent whose turn a step is, where the step says so."""
    name = getattr(bound_args.arguments.get("ev"), "current_agent_name", None)
    return name if isinstance(name, str) else None


async def next_speaker(context: Any) -> str | None:
    """LlamaIndex's name of the agent that a workflow is going to ask next. Exact in the middle of a hand-off too, when no step has said it yet."""
    return await context.store.get("current_agent_name", default=None) if context is not None else None


def tool_result(result: object) -> ToolCallResult | None:
    """What a tool came to, if a step gave that. Handing over and looking into memory are no ways to do a task."""
    return result if isinstance(result, ToolCallResult) and result.tool_name not in _NOT_TRIED else None


def said(result: object) -> tuple[str, str] | None:
    """Which agent said what in its turn, if a step gave that."""
    return (result.current_agent_name, text_of(result.response)) if isinstance(result, AgentOutput) else None


def output_of(result: object) -> str:
    """The text of a final answer. "" for one that is still streaming: its stream belongs to the user."""
    result = getattr(result, "result", result)  # an agent's answer comes in a StopEvent
    if isinstance(result, AgentOutput):
        return text_of(result.response)
    return str(result) if isinstance(result, Response | PydanticResponse | str) else ""


def last_user_text(messages: Sequence[ChatMessage]) -> str:
    """The text of the last message of the user; the last message of all may be the assistant's."""
    return next((text_of(message) for message in reversed(messages) if message.role == MessageRole.USER), "")


def text_of(message: ChatMessage) -> str:
    """A message's text, without images and the like."""
    return message.content or ""


def _method(span_id: str) -> str:
    """The name of the method that a span is about: `FunctionAgent.run-<uuid>`."""
    return span_id.partition("-")[0].rpartition(".")[2]
