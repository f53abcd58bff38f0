"""The notes of a run: in the agent's state, and from there in the prompt of each model call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import SystemMessage


class ALMAState(AgentState[Any]):
    """What is kept of a run beside its messages: by the middleware's name, the episode, the notes and where the run began."""

    alma_runs: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class NotesMiddleware(AgentMiddleware[ALMAState, Any, Any]):
    """Writes the notes of an `ALMAMiddleware` into the prompt. Made by its `split()`; goes last."""

    state_schema = ALMAState

    def __init__(self, of: str) -> None:
        super().__init__()
        self._of = of

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return f"{self._of}.notes"

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Shows the notes to the model."""
        return handler(with_notes(request, self._of))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]) -> Any:
        """As `wrap_model_call`."""
        return await handler(with_notes(request, self._of))


def entry_of(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What the state holds of the run that goes on; empty if ALMA does not follow it."""
    return dict((state.get("alma_runs") or {}).get(name) or {})


def with_notes(request: ModelRequest[Any], name: str) -> ModelRequest[Any]:
    """The request with the notes as the last block of its system prompt; what was there is left as it was."""
    notes = entry_of(cast(Mapping[str, Any], request.state), name).get("notes")
    if not notes:
        return request
    block = {"type": "text", "text": notes}
    old = request.system_message
    if old is None:
        return request.override(system_message=SystemMessage(content=[block]))
    before = [{"type": "text", "text": old.content}] if isinstance(old.content, str) else list(old.content)
    return request.override(system_message=old.model_copy(update={"content": [*before, block]}))
