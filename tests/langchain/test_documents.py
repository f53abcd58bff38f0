"""The page and the example of this adapter run as written, in an environment that has the adapter."""

import inspect
import re
from pathlib import Path

import pytest
from langchain_classic.base_memory import BaseMemory
from langchain_core.retrievers import BaseRetriever

import alma_langchain
from alma.integration import Options, ToolkitArguments
from alma_langchain import ALMAMemory, ALMAMiddleware, ALMARetriever
from documents import ROOT, documents, examples, name_of, run_blocks, run_example
from run_document import blocks

pytestmark = pytest.mark.any_version


@pytest.mark.parametrize("document", documents("langchain"), ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    printed = run_blocks(document, tmp_path)
    shown = [block.text for block in blocks(document.read_text(encoding="utf-8")) if block.language == "text"]
    assert shown
    assert all(text in printed for text in shown)


def test_the_blocks_of_the_readme_run_as_written(tmp_path: Path) -> None:
    run_blocks(ROOT / "packages" / "alma-langchain" / "README.md", tmp_path)


@pytest.mark.parametrize("example", examples("langchain"), ids=name_of)
def test_the_example_runs_as_written(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path)


def test_the_page_names_what_the_package_promises_and_all_options() -> None:
    (page,) = documents("langchain")
    text = page.read_text(encoding="utf-8")
    assert [name for name in alma_langchain.__all__ if not re.search(rf"\b{name}\b", text)] == []
    options = text.partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = set(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", options, re.MULTILINE))
    common = Options.names() | {"task_from"}
    middleware = inspect.signature(ALMAMiddleware).parameters.keys() - {"alma", "agent", "options"}
    memory = ALMAMemory.model_fields.keys() - BaseMemory.model_fields.keys() - {"alma", "agent"}
    retriever = ALMARetriever.model_fields.keys() - BaseRetriever.model_fields.keys() - {"alma", "agent"} - common
    own = (("ALMAMiddleware", middleware), ("ALMAMemory", memory), ("ALMARetriever", retriever))
    assert rows == {(name, owner) for owner, names in own for name in names}
    assert [name for name in common if f"`{name}`" not in options.partition("\n|")[0]] == []
    tools = ToolkitArguments.__annotations__
    assert [name for name in tools if f"`{name}`" not in options.rpartition("`create_alma_tools`")[2]] == []
