"""Notes are put into a message as LlamaIndex puts them there, without its detour."""

from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.memory.memory import DEFAULT_MEMORY_BLOCKS_TEMPLATE

from alma_llamaindex.memory import BLOCKS

NOTES = ("alma", [TextBlock(text="<<< notes >>>\n[H1] {{ go }} & see\n")])
FACTS = ("facts", [TextBlock(text="one"), TextBlock(text="two")])


def said(template: Any, blocks: Any) -> list[str]:
    (message,) = template.format_messages(memory_blocks=blocks)
    return [line.strip() for line in (message.content or "").splitlines() if line.strip()]


@pytest.mark.parametrize("blocks", [[NOTES], [NOTES, FACTS], [("alma", [])]], ids=["one", "two", "empty"])
def test_text_is_put_together_as_the_frameworks_template_does(blocks: Any) -> None:
    assert said(BLOCKS, blocks) == said(DEFAULT_MEMORY_BLOCKS_TEMPLATE, blocks)
    assert said(BLOCKS, blocks)[0] == "<memory>"


def test_what_is_more_than_text_is_left_to_the_framework() -> None:
    picture = ("pictures", [ImageBlock(url="https://example.org/a.png")])
    ours, theirs = (
        template.format_messages(memory_blocks=[NOTES, picture]) for template in (BLOCKS, DEFAULT_MEMORY_BLOCKS_TEMPLATE)
    )
    assert [type(block) for block in ours[0].blocks] == [type(block) for block in theirs[0].blocks]
    assert ImageBlock in [type(block) for block in ours[0].blocks]
