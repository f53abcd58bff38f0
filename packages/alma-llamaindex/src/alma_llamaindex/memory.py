"""`ALMAMemory`: a drop-in for `agent.run(memory=…)`."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.memory.memory import DEFAULT_MEMORY_BLOCKS_TEMPLATE
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.utils import get_tokenizer

from alma import ALMA, ConfigurationError
from alma_integration import Identity, taken
from alma_llamaindex.block import ALMAMemoryBlock
from alma_llamaindex.handler import LEARNERS
from alma_llamaindex.learner import ALMALearner, learner_of

MOST_COUNTED = 64
"""Limit on the texts whose token counts are cached. LlamaIndex counts the same ones again before each call of the model."""


class BlocksTemplate(RichPromptTemplate):
    """LlamaIndex's own template for memory blocks. Blocks that hold only text are concatenated directly.

    LlamaIndex compiles the template again whenever a memory is read, three times in the shortest run, which takes longer than asking
    ALMA.
    """

    def format_messages(self, llm: Any = None, **kwargs: Any) -> list[ChatMessage]:
        blocks: Sequence[tuple[str, Sequence[Any]]] = kwargs.get("memory_blocks", ())
        if not all(isinstance(part, TextBlock) for _, parts in blocks for part in parts):
            return super().format_messages(llm=llm, **kwargs)
        lines = [line for name, parts in blocks for line in (f"<{name}>", *(part.text for part in parts), f"</{name}>")]
        return [ChatMessage(role="user", content="\n".join(["<memory>", *lines, "</memory>"]))]


BLOCKS = BlocksTemplate(DEFAULT_MEMORY_BLOCKS_TEMPLATE.template_str)  # type: ignore[arg-type, call-arg] # its own __init__ has other names
"""Created once, because creating it compiles it."""


class ALMAMemory(Memory):
    """LlamaIndex's `Memory` with ALMA in it: runs are shown what was learned, and are learned from.

    Create it with `from_defaults`. The chat is kept as in any `Memory`.
    """

    def __init__(self, *given: object, **fields: Any) -> None:
        if given or not {"token_limit"} <= fields.keys() <= type(self).model_fields.keys():
            raise ConfigurationError(
                "make it with ALMAMemory.from_defaults(alma, agent=…); only LlamaIndex itself calls the constructor"
            )
        super().__init__(**fields)

    @classmethod
    def class_name(cls) -> str:
        return "ALMAMemory"

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state and leaves the memory unchanged. LlamaIndex removes what cannot be pickled from the memory itself, which
        would break it."""
        whole = dict(self.__dict__)
        state = super().__getstate__()
        written = {**state, "__dict__": dict(state["__dict__"])}
        self.__dict__.update(whole)
        return written

    @classmethod
    def from_defaults(  # type: ignore[override] # it needs an ALMA and an agent
        cls,
        alma: ALMA,
        agent: Identity,
        *,
        learn: bool = True,
        priority: int = 0,
        memory_blocks: Sequence[BaseMemoryBlock[Any]] = (),
        **options: Any,
    ) -> Self:
        """Returns a memory for one agent. With `learn`, an `ALMALearner` for this project is installed, unless there is one.

        The options are those of `alma.integration.Options`, and further those of `Memory.from_defaults`. The notes go into the user's
        message, because not every model accepts a second system message; `inject="system"` puts them there.
        """
        own = taken(options)
        tokenizer_fn = options.pop("tokenizer_fn", None)
        block = ALMAMemoryBlock(alma, agent, learn=learn, priority=priority, tokenizer_fn=tokenizer_fn, **own)
        settings = {
            "insert_method": InsertMethod.SYSTEM if own.get("inject") == "system" else InsertMethod.USER,
            "memory_blocks_template": BLOCKS,
            "tokenizer_fn": lru_cache(MOST_COUNTED)(tokenizer_fn or get_tokenizer()),
            **options,
        }
        memory = super().from_defaults(memory_blocks=[block, *memory_blocks], **settings)
        if learn:
            learner_of(alma)
        return memory  # type: ignore[return-value] # it is a `cls`

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Sets the chat. In another chat the same words are another question."""
        self._begin_anew()
        await super().aset(messages)

    async def areset(self, status: MessageStatus | None = None) -> None:
        """Empties the chat. In a new chat the same words are another question."""
        self._begin_anew()
        await super().areset(status)

    def _estimate_token_count(self, message_or_blocks: Any) -> int:
        """Counts tokens; 0 for a block's text where no block can be truncated, because LlamaIndex then ignores the count."""
        if isinstance(message_or_blocks, str) and not any(block.priority for block in self.memory_blocks):
            return 0
        return super()._estimate_token_count(message_or_blocks)

    def _begin_anew(self) -> None:
        for block in self.memory_blocks:
            if isinstance(block, ALMAMemoryBlock):
                block.begin_anew(self.session_id)

    @property
    def block(self) -> ALMAMemoryBlock:
        """The block that holds ALMA. `ConfigurationError` if there is none, because the memory was not created by `from_defaults`."""
        for block in self.memory_blocks:
            if isinstance(block, ALMAMemoryBlock):
                return block
        raise ConfigurationError("this memory has no ALMA block; make it with ALMAMemory.from_defaults(alma, agent=…)")

    @property
    def learner(self) -> ALMALearner | None:
        return LEARNERS.in_charge(self.block.alma) if self.block.learn else None
