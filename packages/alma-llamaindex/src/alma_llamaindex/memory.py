"""`ALMAMemory`: a drop-in for `agent.run(memory=…)`."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.utils import get_tokenizer

from alma import ALMA, ConfigurationError
from alma_llamaindex.block import ALMAMemoryBlock
from alma_llamaindex.learner import ALMALearner, in_charge
from alma_llamaindex.runs import Evaluator
from alma_llamaindex.template import BLOCKS

MOST_COUNTED = 64
"""Of so many texts the tokens are remembered, since LlamaIndex counts the same ones again before each call of the model."""

_ONE_AT_A_TIME = threading.Lock()
"""So that threads which make memories of one project share its learner."""


class ALMAMemory(Memory):
    """LlamaIndex's `Memory` with ALMA in it: runs are shown what was learned, and are learned from.

    Make it with `from_defaults`. The chat is kept as in any `Memory`.
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
        """As of any memory. LlamaIndex takes what cannot be pickled out of the memory itself, which would not work any more."""
        whole = dict(self.__dict__)
        state = super().__getstate__()
        written = {**state, "__dict__": dict(state["__dict__"])}
        self.__dict__.update(whole)
        return written

    @classmethod
    def from_defaults(  # type: ignore[override] # it needs an ALMA and an agent
        cls,
        alma: ALMA,
        agent: str,
        *,
        user_id: str | None = None,
        learn: bool = True,
        evaluator: Evaluator | None = None,
        top_k: int = 5,
        max_tokens: int = 2000,
        priority: int = 0,
        insert_method: InsertMethod = InsertMethod.USER,
        memory_blocks: Sequence[BaseMemoryBlock[Any]] = (),
        **options: Any,
    ) -> Self:
        """A memory for one agent. With `learn`, an `ALMALearner` for this project is installed, unless there is one.

        `evaluator` judges the runs with this memory. The notes go into the user's message, since not every model takes a second system message;
        `InsertMethod.SYSTEM` puts them there. Further blocks and options are those of `Memory.from_defaults`.
        """
        block = ALMAMemoryBlock(
            alma,
            agent=agent,
            user_id=user_id,
            learn=learn,
            evaluator=evaluator,
            top_k=top_k,
            max_tokens=max_tokens,
            priority=priority,
            tokenizer_fn=options.get("tokenizer_fn"),
        )
        tokenizer = lru_cache(MOST_COUNTED)(options.pop("tokenizer_fn", None) or get_tokenizer())
        settings = {"insert_method": insert_method, "memory_blocks_template": BLOCKS, "tokenizer_fn": tokenizer, **options}
        memory = super().from_defaults(memory_blocks=[block, *memory_blocks], **settings)
        with _ONE_AT_A_TIME:
            if block.learn and in_charge(alma) is None:
                ALMALearner(alma).install()
        return memory  # type: ignore[return-value] # it is a `cls`

    async def aset(self, messages: list[ChatMessage]) -> None:
        """As of any memory. In another chat the same words are another question."""
        self._begin_anew()
        await super().aset(messages)

    async def areset(self, status: MessageStatus | None = None) -> None:
        """As of any memory. In a chat that begins anew the same words are another question."""
        self._begin_anew()
        await super().areset(status)

    def _estimate_token_count(self, message_or_blocks: Any) -> int:
        """As of any memory; 0 for what a block says where no block makes way, since LlamaIndex compares it with nothing then."""
        if isinstance(message_or_blocks, str) and not any(block.priority for block in self.memory_blocks):
            return 0
        return super()._estimate_token_count(message_or_blocks)

    def _begin_anew(self) -> None:
        for block in self.memory_blocks:
            if isinstance(block, ALMAMemoryBlock):
                block.begin_anew(self.session_id)

    @property
    def block(self) -> ALMAMemoryBlock:
        """The block that holds ALMA. `ConfigurationError` if there is none, since the memory was not made by `from_defaults`."""
        for block in self.memory_blocks:
            if isinstance(block, ALMAMemoryBlock):
                return block
        raise ConfigurationError("this memory has no ALMA block; make it with ALMAMemory.from_defaults(alma, agent=…)")

    @property
    def learner(self) -> ALMALearner | None:
        """The learner that runs with this memory are seen by, if there is one."""
        return in_charge(self.block.alma) if self.block.learn else None
