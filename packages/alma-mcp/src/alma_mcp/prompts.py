"""Prompts: what to do before a task, with the notes for it, and after one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import Field

from alma.errors import AlmaError
from alma_mcp.calls import Calls

Task = Annotated[str, Field(description="The task, in a sentence.")]
Agent = Annotated[str, Field(description="The agent whose memory this is. Needed unless the server is bound to one.")]
UserId = Annotated[str, Field(description="The user who is served, if any.")]


def add_prompts(server: "MCPServer[Any]", calls: Calls) -> None:
    """Adds the prompts `before_task` and `after_task` to a server."""

    @server.prompt("before_task", title="Before a task", description="Begins a task with what the memory knows about it.")
    def before_task(task: Task, agent: Agent = "", user_id: UserId = "") -> str:
        with _protocol_errors():
            who = calls.access_to("read")
            name = who.as_agent(agent or None)
            found = calls.alma.retrieve(task=task, agent=name, user_id=who.as_user(user_id or None))
        notes = found.to_prompt(max_tokens=2000, says_if_empty=True)
        return (
            f"Task: {task}\n\n{notes}\n\n"
            f"Before a risky step, call alma_check as the agent {name!r}. When the task has ended, call alma_learn with what you did and how it went."
        )

    @server.prompt("after_task", title="After a task", description="Ends a task by recording how it went.")
    def after_task(task: Task, agent: Agent = "") -> str:
        with _protocol_errors():
            name = calls.access.as_agent(agent or None)
        return (
            f"The task has ended: {task}\n\n"
            f"Call alma_learn once as the agent {name!r}: what you did as strategy_used, and the outcome. It is success or failure only if "
            "something showed it, such as a test or a person; otherwise it is unverified. For a failure give the error_message. If you "
            "had notes from alma_retrieve, call alma_record_usage with all of their ids, and the ids of those that helped."
        )


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Turns errors of ALMA into errors of the protocol with the same message."""
    try:
        yield
    except AlmaError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
