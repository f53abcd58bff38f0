"""`ALMAMemory`: a drop-in for `agent.run(memory=…)`."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.utils import get_tokenizer

from alma import ALMA
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

    @classmethod
    def class_name(cls) -> str:
        return "ALMAMemory"

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
        )
        with _ONE_AT_A_TIME:
            if learn and in_charge(alma) is None:
                ALMALearner(alma).install()
        tokenizer = lru_cache(MOST_COUNTED)(options.pop("tokenizer_fn", None) or get_tokenizer())
        settings = {"insert_method": insert_method, "memory_blocks_template": BLOCKS, "tokenizer_fn": tokenizer, **options}
        return super().from_defaults(memory_blocks=[block, *memory_blocks], **settings)  # type: ignore[return-value] # it is a `cls`

    @property
    def block(self) -> ALMAMemoryBlock:
        """The block that holds ALMA."""
        return next(block for block in self.memory_blocks if isinstance(block, ALMAMemoryBlock))

    @property
    def learner(self) -> ALMALearner | None:
        """The learner that runs with this memory are seen by, if there is one."""
        return in_charge(self.block.alma) if self.block.learn else None
