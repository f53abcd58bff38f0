"""`ALMAMemory`: one object that provides the integration for each sort of agent."""

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.load.serializable import Serializable
from pydantic import ConfigDict, Field, PrivateAttr

from alma import ALMA
from alma_integration import MOST_TOKENS, Identity, Run, taken
from alma_langchain.classic import NotedDocuments, Notes
from alma_langchain.handler import ALMACallbackHandler, AsyncALMACallbackHandler
from alma_langchain.reading import final_answer
from alma_langchain.recorder import Recorder, Recording, misplaced, run_context
from alma_langchain.retriever import ALMARetriever, memory_to_documents

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory

    from alma_langchain.middleware import ALMAMiddleware
else:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ImportError:  # current agents do not need it
        BaseMemory = Serializable

_LOG = logging.getLogger("alma")


class ALMAMemory(Recording, BaseMemory):
    """Memory that learns, for any agent: `ALMAMemory(alma, agent="…")`.

    `as_middleware()` is for `create_agent`, `callback_handler()` for graphs and chains, `as_retriever()` for chains that look things up.
    Where langchain-classic is installed it is itself a memory for `AgentExecutor(memory=…)` and other chains: it shows the notes under
    `memory_key`, and follows the run that they are shown to, so that failures and steps are learned as well.

    `input_key` and `output_key` are needed where a chain has several; `return_docs` shows documents instead of a text. Further arguments
    are the options of `alma.integration.Options`, and `task_from`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    tools = misplaced("middleware", "middleware=[memory.as_middleware()]")
    raise_error = run_inline = misplaced("callback handler", "callbacks=[memory.callback_handler()]")

    agent: Any
    memory_key: str = "alma_memory"
    input_key: str | None = None
    output_key: str | None = None
    return_docs: bool = False
    allow_clear: bool = False
    alma: Any = Field(exclude=True, repr=False)
    _integration: Recorder = PrivateAttr()

    def __init__(self, alma: ALMA, *, agent: Identity, **given: Any) -> None:
        recorder = Recorder(alma, agent=agent, **taken(given, "task_from"))
        Serializable.__init__(self, alma=alma, agent=agent, **given)
        self._integration = recorder

    def __getstate__(self) -> dict[Any, Any]:
        raise TypeError("an ALMAMemory holds an open store and cannot be pickled; make it anew in the other process")

    def as_middleware(self, *, name: str = "ALMAMiddleware") -> "ALMAMiddleware":
        """Returns middleware for `create_agent`. `MissingDependencyError` without the extra `agents`."""
        from alma_langchain.middleware import ALMAMiddleware

        return ALMAMiddleware.over(self.recorder, name=name)

    def callback_handler(self) -> ALMACallbackHandler:
        """Returns a handler for graphs without middleware and for other chains."""
        return ALMACallbackHandler.over(self.recorder)

    def async_callback_handler(self) -> AsyncALMACallbackHandler:
        """Returns the same for `ainvoke` and `astream`."""
        return AsyncALMACallbackHandler.over(self.recorder)

    def as_retriever(self, **given: Any) -> ALMARetriever:
        """Returns a retriever over the same memory, for the same users and tenants; arguments are those of `ALMARetriever`."""
        chosen = self.recorder.options
        same = {"k": chosen.top_k, "min_score": chosen.min_score, "user_id": chosen.user_id, "tenant_id": chosen.tenant_id}
        return ALMARetriever(**{"alma": self.alma, "agent": self.agent, **same, **given})

    @property
    def memory_variables(self) -> list[str]:
        """The one key of the notes."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Returns the notes for the task in `inputs`; none if ALMA cannot be read."""
        shown = self._shown(self._task(inputs))
        ALMACallbackHandler.over(self.recorder, is_given=True)
        return {self.memory_key: shown}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        shown = await asyncio.to_thread(self._shown, self._task(inputs))
        AsyncALMACallbackHandler.over(self.recorder, is_given=True)
        return {self.memory_key: shown}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Ends the run that the notes in `inputs` were shown to."""
        run = self._answered(inputs, outputs)
        if run is not None:
            run.end(self._answer(outputs), outputs=dict(outputs), result=outputs)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        run = self._answered(inputs, outputs)
        if run is not None:
            await run.aend(self._answer(outputs), outputs=dict(outputs), result=outputs)

    def clear(self) -> None:
        """Logs a warning and does nothing, because it would forget what was learned in all conversations. With `allow_clear`, forgets all
        memories of this agent."""
        if not self.allow_clear:
            _LOG.warning("clear() forgot nothing: ALMA holds what was learned in all runs; allow_clear=True lets it")
            return
        with self.recorder.guard("nothing was cleared"):
            agent = self.recorder.agent_of(run_context())
            while ids := [memory.id for memory in self.alma.list_memories(agent=agent, limit=1000)]:
                self.alma.forget(memory_ids=ids)

    def _task(self, inputs: dict[str, Any]) -> str:
        if self.input_key is not None:
            return str(inputs[self.input_key])
        keys = [key for key in inputs if key not in (self.memory_key, "stop")]
        if len(keys) != 1:
            raise ValueError(f"the chain has the inputs {sorted(keys)}; say which one is the task: ALMAMemory(…, input_key=…)")
        return str(inputs[keys[0]])

    def _shown(self, task: str) -> Any:
        run = self.recorder.begun(task, run_context())
        if run is not None and self.return_docs:
            run.options = replace(run.options, max_tokens=MOST_TOKENS)
            run.saw_notes = True  # documents cannot be recognised in a prompt
        if run is not None:
            run.recall()
        if self.return_docs:
            shown: Notes | NotedDocuments = NotedDocuments(memory_to_documents(run.memories) if run else [])
        else:
            shown = Notes(run.notes if run else "")
        shown.run = run
        return shown

    def _answered(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> Run | None:
        """Returns the run of these inputs after reading its answer."""
        shown = inputs.get(self.memory_key)
        if not isinstance(shown, Notes | NotedDocuments):
            self.recorder.warn_once(f"the inputs hold no notes under {self.memory_key!r}, so this run was not recorded")
            return None
        if shown.run is None:
            return None
        if shown.run.run_id is None:  # no handler set one
            self.recorder.warn_once(
                "no callback reported this run's steps; add callbacks=[memory.callback_handler()] to the chain"
            )
        elif shown.run.saw_notes is False:
            self.recorder.warn_once(f"the notes did not reach the model; name them in the prompt, as {{{self.memory_key}}}")
        shown.run.model_said(self._answer(outputs))
        return shown.run

    def _answer(self, outputs: dict[str, Any]) -> str:
        if self.output_key is not None:
            return str(outputs[self.output_key])
        return final_answer(outputs) or next((value for value in outputs.values() if isinstance(value, str)), "")
