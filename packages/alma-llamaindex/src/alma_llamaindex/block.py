"""`ALMAMemoryBlock`: what ALMA remembers, as a block of a LlamaIndex `Memory`."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import ConfigDict, Field, PrivateAttr

from alma import ALMA, ConfigurationError, MemorySlice
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count, checked_name
from alma_llamaindex.attachment import Attachment, Tokenizer
from alma_llamaindex.given import checked_call, checked_tokens, checked_user
from alma_llamaindex.learner import ALMALearner, learners
from alma_llamaindex.runs import Evaluator, Part, Run, as_task
from alma_llamaindex.spans import last_user_text, next_speaker

_LOG = logging.getLogger("alma.llamaindex")

MOST_KEPT = 64
"""So many sessions and texts are remembered, to answer again what was just asked."""

_KEEPING = threading.Lock()
"""A block may be read in several threads, and a lock of its own could not be copied or pickled with it."""


class ALMAMemoryBlock(BaseMemoryBlock[str]):
    """What matters for the user's last message, as notes that the model can cite; nothing if there is nothing.

    LlamaIndex asks a block several times in a run; ALMA is asked once for each message. In a run that an `ALMALearner` of the same ALMA
    sees, what is shown belongs to the run's episode, unless `learn` is false. In a workflow, `agent` speaks for the first agent, and one
    that the run is handed to is asked for by its own name. Nothing is taken from the chat, since ALMA learns from outcomes: messages that
    the memory lets go of stay where LlamaIndex archives them. `tokenizer_fn` is the memory's, if it has one of its own.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="alma", description="The name of the block.")
    agent: str = Field(description="The agent whose memories these are.")
    user_id: str | None = Field(default=None, description="The user whose preferences are shown as well.")
    top_k: int = Field(default=5, description="So many memories of each kind at most.")
    max_tokens: int = Field(default=2000, description="So long may the notes be.")
    learn: bool = Field(default=True, description="Whether runs with this block may be learned from.")
    _held: Attachment = PrivateAttr(default_factory=Attachment)
    _answered: OrderedDict[str, tuple[Any, MemorySlice]] = PrivateAttr(default_factory=OrderedDict)
    _last: tuple[MemorySlice, str] | None = PrivateAttr(default=None)
    _shown: OrderedDict[str, MemorySlice] = PrivateAttr(default_factory=OrderedDict)

    def __init__(
        self,
        alma: ALMA,
        agent: str,
        *,
        evaluator: Evaluator | None = None,
        tokenizer_fn: Tokenizer | None = None,
        **fields: Any,
    ) -> None:
        opened = checked_alma(alma)
        super().__init__(**{"agent": checked_name(agent, "agent"), **fields})
        checked_user(self.user_id)
        checked_count(self.top_k, "top_k")
        checked_tokens(self.max_tokens)
        if evaluator is not None and not self.learn:
            raise ConfigurationError("an evaluator judges what is learned from; with learn=False nothing is")
        judging, counting = checked_call(evaluator, "evaluator"), checked_call(tokenizer_fn, "tokenizer_fn")
        self._held = Attachment(opened.project_id, opened, judging, counting)

    @property
    def alma(self) -> ALMA:
        """Where it looks. `ConfigurationError` if the block was unpickled and no learner is installed for its project."""
        return self._held.alma

    def __getstate__(self) -> dict[str, Any]:
        """Without what was shown: memories and a user's wishes belong to the store, not to files that contexts are pickled into."""
        state = super().__getstate__()
        forgotten: dict[str, Any] = {"_answered": OrderedDict(), "_last": None, "_shown": OrderedDict()}
        return {**state, "__pydantic_private__": {**state["__pydantic_private__"], **forgotten}}

    def begin_anew(self, session: str) -> None:
        """Asks again for what was asked in a session, whose chat begins anew."""
        self._answered.pop(session, None)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        task = as_task(last_user_text(messages or []))
        if not task:
            return ""
        watching = learners(self.alma) if self.learn else []
        try:
            memories = await self._memories(task, messages or [], str(block_kwargs.get("session_id")), watching)
            return self._rendered(memories)
        except Exception as error:  # noqa: BLE001 - the agent goes on without its memory
            _LOG.warning("an agent goes on without its memory: %s: %s", type(error).__name__, error)
            return ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keeps nothing: the chat is LlamaIndex's."""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Fewer notes, the best ones, whole. Where nothing was shown, LlamaIndex asks with an empty list."""
        memories = self._shown.get(content) if content else None
        if memories is None:
            return None
        count = self._held.count_tokens
        room = max(count(content) - tokens_to_truncate, 0)
        fewer = memories.fitting(room, count_tokens=count)
        for learner in learners(self.alma) if self.learn else ():
            if span := learner.current_span():
                span.run.narrow(memories, fewer)
        return fewer.to_prompt(room, count_tokens=count) or None

    async def _memories(
        self, task: str, messages: Sequence[ChatMessage], session: str, watching: Sequence[ALMALearner]
    ) -> MemorySlice:
        for learner in watching:
            span = learner.current_span()
            if span is not None and not span.run.is_query:
                name = (await next_speaker(span.run.context) if span.run.is_workflow else None) or span.run.first
                shown: MemorySlice | None = span.run.shown.get((name, self._held))
                if shown is not None:
                    return shown
                if not span.is_in_tool:  # the memory that a tool has is its own affair
                    return await self._in_run(learner, span.run, name, span.run.task or task)
        return await self._outside(task, messages, session)

    async def _in_run(self, learner: ALMALearner, run: Run, name: str, task: str) -> MemorySlice:
        """What the agent whose turn comes is shown in this run, asked for once."""
        agent = self.agent if name == run.first else name
        await learner.asettle()
        try:
            memories = await self._retrieved(task, agent)
        except Exception as error:  # noqa: BLE001 - the agent goes on without its memory
            learner.failed(error)
            memories = MemorySlice(query=task, agent=agent, project_id=self.alma.project_id)
        learner.take(run, Part(name, agent, task, memories, self.user_id, evaluator=self._held.evaluator))
        run.shown[name, self._held] = memories
        return memories

    async def _outside(self, task: str, messages: Sequence[ChatMessage], session: str) -> MemorySlice:
        """What is shown where no learner sees a run: asked for once for each message of the user's in a session."""
        asked = (_place(messages), task)
        known = self._answered.get(session)
        memories = known[1] if known and known[0] == asked else await self._retrieved(task, self.agent)
        if messages[-1].role == MessageRole.ASSISTANT:  # it has been answered; the same words again are a new question
            self._answered.pop(session, None)
        else:
            _keep(self._answered, session, (asked, memories))
        return memories

    def _rendered(self, memories: MemorySlice) -> str:
        """The slice as notes. In a run it is the same slice each time."""
        last = self._last  # read once, since another thread may ask meanwhile
        return last[1] if last is not None and last[0] is memories else self._noted(memories, memories.to_prompt(self.max_tokens))

    def _noted(self, memories: MemorySlice, text: str) -> str:
        self._last = (memories, text)
        _keep(self._shown, text, memories)
        return text

    async def _retrieved(self, task: str, agent: str) -> MemorySlice:
        """What is found and has room in the notes: nobody may be said to have passed over what was left out."""
        found = await asyncio.to_thread(self.alma.retrieve, task=task, agent=agent, user_id=self.user_id, top_k=self.top_k)
        memories, text = found.fitted(self.max_tokens)
        self._noted(memories, text)
        return memories


def _place(messages: Sequence[ChatMessage]) -> int:
    """Which message is the user's last one. LlamaIndex gives it twice in the middle of a run; that is one."""
    place = max(place for place, message in enumerate(messages) if message.role == MessageRole.USER)
    before = messages[place - 1] if place else None
    repeated = before is not None and before.role == MessageRole.USER and before.content == messages[place].content
    return place - 1 if repeated else place


def _keep(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
    with _KEEPING:
        kept[key] = value
        kept.move_to_end(key)
        while len(kept) > MOST_KEPT:
            kept.popitem(last=False)
