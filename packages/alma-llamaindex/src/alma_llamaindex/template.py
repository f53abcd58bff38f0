"""How blocks are put into a message, without compiling a template each time."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.memory.memory import DEFAULT_MEMORY_BLOCKS_TEMPLATE
from llama_index.core.prompts import RichPromptTemplate


class BlocksTemplate(RichPromptTemplate):
    """LlamaIndex's own template for memory blocks. What holds nothing but text is put together directly.

    LlamaIndex compiles the template anew whenever a memory is read, three times in the shortest run, which takes longer than asking ALMA.
    """

    def format_messages(self, llm: Any = None, **kwargs: Any) -> list[ChatMessage]:
        blocks: Sequence[tuple[str, Sequence[Any]]] = kwargs.get("memory_blocks", ())
        if not all(isinstance(part, TextBlock) for _, parts in blocks for part in parts):
            return super().format_messages(llm=llm, **kwargs)
        lines = [line for name, parts in blocks for line in (f"<{name}>", *(part.text for part in parts), f"</{name}>")]
        return [ChatMessage(role="user", content="\n".join(["<memory>", *lines, "</memory>"]))]


BLOCKS = BlocksTemplate(DEFAULT_MEMORY_BLOCKS_TEMPLATE.template_str)  # type: ignore[arg-type, call-arg] # its own __init__ has other names
"""Made once, since making it compiles it."""
