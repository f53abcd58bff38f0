"""The page and the example of this adapter run as written, in an environment that has the adapter."""

import inspect
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.memory import BaseMemoryBlock

from alma.integration import Toolkit, ToolkitArguments
from alma_llamaindex import ALMALearner, ALMAMemory, ALMAMemoryBlock, ALMARetriever
from documents import documents, examples, name_of, run_blocks, run_example

pytestmark = pytest.mark.any_version

OPTIONS: dict[str, Callable[..., object]] = {
    "ALMAMemory": ALMAMemory.from_defaults,
    "ALMAMemoryBlock": ALMAMemoryBlock,
    "ALMALearner": ALMALearner,
    "ALMARetriever": ALMARetriever,
    "ALMAToolSpec": Toolkit,
}


@pytest.mark.parametrize("document", documents("llamaindex"), ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)


@pytest.mark.parametrize("example", examples("llamaindex"), ids=name_of)
def test_the_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path)


def told(default: Any) -> str:
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return default.__name__ if callable(default) else repr(default)


def test_the_page_lists_each_option_with_its_default_and_no_other() -> None:
    (page,) = documents("llamaindex")
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+?) \|", page.read_text().partition("\n## Options\n")[2], re.MULTILINE)
    listed = [(name, option, default) for option, default, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(
        (name, parameter.name, told(parameter.default))
        for name, make in OPTIONS.items()
        for parameter in inspect.signature(make).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
        and not (name == "ALMAMemoryBlock" and parameter.name in BaseMemoryBlock.model_fields)
        and not (name == "ALMAToolSpec" and parameter.name not in ToolkitArguments.__annotations__)
    )
