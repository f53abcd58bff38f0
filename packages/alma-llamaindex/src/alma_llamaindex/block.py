"""`ALMAMemoryBlock`: ALMA's notes as a block of a LlamaIndex `Memory`."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import ConfigDict, Field, PrivateAttr

from alma import ALMA, ConfigurationError
from alma_integration import Identity, Integration, OptionArguments, Run, checked_alma
from alma_llamaindex import spans
from alma_llamaindex.attachment import Attachment, Tokenizer
from alma_llamaindex.following import EPISODES, MEMORIES, MEMORY, Bookmark, Followed, Line, names_in
from alma_llamaindex.handler import HANDLER, RunSpan


class ALMAMemoryBlock(BaseMemoryBlock[str]):
    """Notes for the user's last message, which the model can cite; empty if there are none.

    LlamaIndex asks a block several times in a run; ALMA is asked once for each message. In a run that an `ALMALearner` of the same ALMA
    follows, the memories shown belong to the run's episode, unless `learn` is false. In a workflow, `agent` names the first agent; other
    agents that the run is handed to are looked up under their own names. The block stores nothing of the chat: messages that the memory
    drops stay where LlamaIndex archives them. `tokenizer_fn` is the memory's, if it has one of its own. The options are those of
    `alma.integration.Options`.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="alma", description="The name of the block.")
    learn: bool = Field(default=True, description="Whether runs with this block may be learned from.")
    _held: Attachment = PrivateAttr()

    def __init__(
        self,
        alma: ALMA,
        agent: Identity,
        *,
        name: str = "alma",
        priority: int = 0,
        learn: bool = True,
        tokenizer_fn: Tokenizer | None = None,
        **options: Unpack[OptionArguments],
    ) -> None:
        if tokenizer_fn is not None and not callable(tokenizer_fn):
            raise ConfigurationError("tokenizer_fn must be a function")
        if options.get("evaluator") is not None and not learn:
            raise ConfigurationError("an evaluator judges what is learned from; with learn=False nothing is")
        given: dict[str, Any] = {"name": name, "priority": priority, "learn": learn}
        super().__init__(**given)
        self._held = Attachment(checked_alma(alma), agent, options)
        self._held.tokenizer_fn = tokenizer_fn

    @property
    def alma(self) -> ALMA:
        """The ALMA of the block. `ConfigurationError` if the block was unpickled and no learner is installed for its project."""
        return self._held.alma

    @property
    def agent(self) -> Identity:
        """The agent whose memories these are."""
        return self._held.agent

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that were given."""
        return self._held.options

    def begin_anew(self, session: str) -> None:
        """Drops the cached answer of a session whose chat starts again."""
        self._held.answered.pop(session, None)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked, session = messages or [], str(block_kwargs.get("session_id"))
        span, learner, notes = HANDLER.here(), self._held.learner if self.learn else None, ""
        integration = self._held.integration(learner)
        with integration.guard("an agent goes on without its memory"):
            run = None
            is_followed = learner is not None or (self.learn and span is not None and span.followed.run_of(self.alma) is not None)
            if span is not None and is_followed and span.followed.kind is not spans.Kind.QUERY:
                run = await self._in_run(span, integration, asked, session)
            run = run or self._outside(asked, session, integration)
            if run is not None and not (span and span.followed.is_shown_elsewhere(run)):
                notes = await run.arecall()
                self._held.shown[notes] = run
        return notes

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Stores nothing: the chat is LlamaIndex's."""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Returns fewer notes, the best ones, whole. Where nothing was shown, LlamaIndex passes an empty list."""
        span = HANDLER.here()
        run = None if span is None else span.followed.run_of(self.alma)
        if run is None or run.notes != content:
            run = self._held.shown.get(content) if content else None
        if not content or run is None:
            return None
        count = self._held.tokenizer_fn or get_tokenizer()
        room = max(len(count(content)) - tokens_to_truncate, 0)
        notes = run.show(run.memories.fitting(room, count_tokens=lambda text: len(count(text))))
        self._held.shown[notes] = run
        return notes or None

    async def _in_run(self, span: RunSpan, integration: Integration, asked: Sequence[ChatMessage], session: str) -> Run | None:
        """Returns the run that shows notes to the agent whose turn begins; `None` where this memory is not the run's."""
        followed = span.followed
        if span.is_in_tool and followed.run_of(self.alma) is None:  # the memory of a tool is not the run's
            return None
        name = followed.speaking
        if followed.kind is spans.Kind.WORKFLOW:
            name = await spans.next_speaker(followed.context) or name
        line = followed.lines.get(self.alma) or await self._begun(followed, integration, name, asked, session)
        line.owner = line.owner or self._held
        if line.owner is self._held:
            if name != followed.speaking:
                followed.hand_over(name)
            return line.run
        if span.is_in_tool:
            return None
        if self._held not in followed.further:  # a second block of the same project, whose notes are not counted
            followed.further[self._held] = _unrecorded(integration, followed.task or spans.last_user_text(asked))
        return followed.further[self._held]

    async def _begun(
        self, followed: Followed, integration: Integration, name: str, asked: Sequence[ChatMessage], session: str
    ) -> Line:
        """Returns a new line: what this project records of the run from now on."""
        task, episode_id, state = spans.last_user_text(asked), None, None
        store = getattr(followed.context, "store", None)
        if store is not None:
            state = await store.get("state", default=None)
            if not followed.task:  # it continues a run that waited, in this process or elsewhere
                task = await store.get("user_msg_str", default=None) or task
                episode_id = dict((await store.get(EPISODES, default=None) or {}).items()).get(self.alma.project_id)
        followed.speaking = name
        line = followed.begin(integration, task=task, thread_id=session, episode_id=episode_id, state=state, owner=self._held)
        if store is not None:
            await store.set(EPISODES, Bookmark(followed.written_down))
            MEMORIES[name := uuid4().hex] = await store.get("memory")
            await store.set(MEMORY, name)
        return line

    def _outside(self, messages: Sequence[ChatMessage], session: str, integration: Integration) -> Run | None:
        """Returns a run that shows notes where no learner follows one: one run for each user message in a session."""
        task = spans.last_user_text(messages)
        if not task.strip():
            return None
        asked = (_place(messages), task)
        known = self._held.answered.get(session)
        run = known[1] if known is not None and known[0] == asked else _unrecorded(integration, task)
        if messages[-1].role == MessageRole.ASSISTANT:  # it has been answered; the same words again are a new question
            self._held.answered.pop(session, None)
        else:
            self._held.answered[session] = asked, run
        return run


def _unrecorded(integration: Integration, task: str) -> Run:
    context = HANDLER.context_here()
    return integration.run(task, agent=integration.agent_of(context), context=names_in(context, integration))


def _place(messages: Sequence[ChatMessage]) -> int:
    """Returns the place of the user's last message. LlamaIndex passes it twice in the middle of a run; both count as one."""
    place = max(place for place, message in enumerate(messages) if message.role == MessageRole.USER)
    before = messages[place - 1] if place else None
    repeated = before is not None and before.role == MessageRole.USER and before.content == messages[place].content
    return place - 1 if repeated else place
