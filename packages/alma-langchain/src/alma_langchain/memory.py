"""`ALMAMemory`: one object, and what each sort of agent takes of it."""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.load.serializable import Serializable
from pydantic import ConfigDict, Field, PrivateAttr

from alma import ALMA, MemorySlice
from alma_langchain.attempt import Attempt
from alma_langchain.documents import memory_to_documents
from alma_langchain.events import watch
from alma_langchain.handler import ALMACallbackHandler, AsyncALMACallbackHandler
from alma_langchain.misplaced import tell_missing
from alma_langchain.notes import NotedDocuments, Notes
from alma_langchain.reading import final_answer
from alma_langchain.recorder import Recorder
from alma_langchain.retriever import ALMARetriever
from alma_langchain.run import RunReport
from alma_langchain.settings import Settings, run_context

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory

    from alma_langchain.middleware import ALMAMiddleware
else:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ImportError:  # today's agents do not need it
        BaseMemory = Serializable

_LOG = logging.getLogger("alma")
_SETTINGS = frozenset(Settings.__dataclass_fields__)


class ALMAMemory(BaseMemory):
    """Memory that learns, for any agent: `ALMAMemory(alma, agent="…")`.

    `as_middleware()` is for `create_agent`, `callback_handler()` for graphs and chains, `as_retriever()` for chains that look things up. Where
    langchain-classic is installed it is itself a memory for `AgentExecutor(memory=…)` and other chains: it shows the notes under `memory_key`,
    and listens by itself to the run that they are shown to, so that failures and steps are learned as well.

    `input_key` and `output_key` are needed where a chain has several; `return_docs` shows documents instead of a text. Further arguments are
    the options of `Settings`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    agent: str
    memory_key: str = "alma_memory"
    input_key: str | None = None
    output_key: str | None = None
    return_docs: bool = False
    allow_clear: bool = False
    alma: Any = Field(exclude=True, repr=False)
    _recorder: Recorder = PrivateAttr()
    _has_warned: bool = PrivateAttr(default=False)

    def __init__(self, alma: ALMA, *, agent: str, **given: Any) -> None:
        options = {name: given.pop(name) for name in _SETTINGS & given.keys()}
        recorder = Recorder(alma, agent, Settings(**options))
        Serializable.__init__(self, alma=alma, agent=recorder.agent, **given)
        self._recorder = recorder
        watch()

    if not TYPE_CHECKING:  # a type checker knows what there is

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                tell_missing(self, name, middleware="memory.as_middleware()", handler="memory.callback_handler()")

    def __getstate__(self) -> dict[Any, Any]:
        raise TypeError("an ALMAMemory holds an open store and cannot be pickled; make it anew in the other process")

    @property
    def recorder(self) -> Recorder:
        """What all that is made of this memory share."""
        return self._recorder

    @property
    def errors(self) -> list[Exception]:
        """The last errors of ALMA itself, oldest first."""
        return list(self._recorder.errors)

    @property
    def last_run(self) -> RunReport | None:
        """What was taken from the run that ended last."""
        return self._recorder.last_run

    def as_middleware(self, *, inject: Literal["system", "none"] = "system", name: str = "ALMAMiddleware") -> "ALMAMiddleware":
        """Middleware for `create_agent`. `MissingDependencyError` without the extra `agents`."""
        from alma_langchain.middleware import ALMAMiddleware

        return ALMAMiddleware.over(self._recorder, inject=inject, name=name)

    def callback_handler(self) -> ALMACallbackHandler:
        """A handler for graphs without middleware and for other chains."""
        return ALMACallbackHandler.over(self._recorder)

    def async_callback_handler(self) -> AsyncALMACallbackHandler:
        """The same for `ainvoke` and `astream`."""
        return AsyncALMACallbackHandler.over(self._recorder)

    def as_retriever(self, **given: Any) -> ALMARetriever:
        """A retriever over the same memory, for the same users and tenants; arguments are those of `ALMARetriever`."""
        chosen = self._recorder.settings
        same = {"k": chosen.top_k, "min_score": chosen.min_score, "user_id": chosen.user_id, "tenant_id": chosen.tenant_id}
        return ALMARetriever(**{"alma": self.alma, "agent": self.agent, **same, **given})

    @property
    def memory_variables(self) -> list[str]:
        """The one key under which the notes are."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The notes for the task in `inputs`; none if ALMA cannot read."""
        task = self._task(inputs)
        context = run_context()
        found, text = MemorySlice(), ""
        attempt: Attempt | None = None
        with self._recorder.guard("memory could not be read"):
            found = self._recorder.retrieve(task, context)
            if not self.return_docs:
                found, text = self._recorder.showing(found)
            attempt = self._recorder.follow(task, context, memories=partial(_given, found))
        return {self.memory_key: self._shown(found, text, attempt)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """As `load_memory_variables`."""
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Ends the run that the notes in `inputs` were shown to."""
        attempt = getattr(inputs.get(self.memory_key), "alma_attempt", None)
        if attempt is None:
            if self.memory_key not in inputs or not hasattr(inputs[self.memory_key], "alma_attempt"):
                self._warn(f"the inputs hold no notes under {self.memory_key!r}, so this run was not recorded")
            return
        if not attempt.is_listened_to:
            self._warn("no callbacks told of this run's steps; add callbacks=[memory.callback_handler()] to the chain")
        if attempt.is_told is False:
            self._warn(f"the notes did not reach the model; name them in the prompt, as {{{self.memory_key}}}")
        answer = self._answer(outputs)
        attempt.observe(answer)
        self._recorder.end(attempt, attempt.finished(answer=answer, outputs=dict(outputs)))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """As `save_context`."""
        await asyncio.to_thread(self.save_context, inputs, outputs)

    def clear(self) -> None:
        """Does nothing and says so: it would forget what was learned in all conversations. With `allow_clear`, forgets all of this agent."""
        if not self.allow_clear:
            _LOG.warning("clear() forgot nothing: ALMA holds what was learned in all runs; allow_clear=True lets it")
            return
        with self._recorder.guard("nothing was cleared"):
            self._forget_all()

    async def aclear(self) -> None:
        """As `clear`."""
        await asyncio.to_thread(self.clear)

    def _task(self, inputs: dict[str, Any]) -> str:
        return str(inputs[self._input_key(inputs)])

    def _input_key(self, inputs: dict[str, Any]) -> str:
        if self.input_key is not None:
            return self.input_key
        keys = [key for key in inputs if key not in (self.memory_key, "stop")]
        if len(keys) != 1:
            raise ValueError(f"the chain has the inputs {sorted(keys)}; say which one is the task: ALMAMemory(…, input_key=…)")
        return keys[0]

    def _answer(self, outputs: dict[str, Any]) -> str:
        if self.output_key is not None:
            return str(outputs[self.output_key])
        return final_answer(outputs) or next((value for value in outputs.values() if isinstance(value, str)), "")

    def _shown(self, found: MemorySlice, text: str, attempt: Attempt | None) -> Any:
        if self.return_docs:
            return NotedDocuments(memory_to_documents(found), attempt)
        if attempt is not None:
            attempt.notes = text
        return Notes.of(text, attempt)

    def _forget_all(self) -> None:
        while ids := [memory.id for memory in self.alma.list_memories(agent=self.agent, limit=1000)]:
            self.alma.forget(memory_ids=ids)

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning("%s", text)


def _given(found: MemorySlice) -> MemorySlice:
    return found
