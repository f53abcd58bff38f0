"""The page of the MCP server runs as written, in an environment that has it, and says what there is."""

import re
from pathlib import Path

import pytest

from alma_mcp.command import _parser
from alma_mcp.tools import CORE, TOOLS
from documents import documents, name_of, run_blocks
from run_document import blocks

pytestmark = pytest.mark.any_version

(PAGE,) = documents("mcp")


@pytest.mark.slow
@pytest.mark.parametrize("document", [PAGE], ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    printed = run_blocks(document, tmp_path)
    shown = [block.text for block in blocks(document.read_text(encoding="utf-8")) if block.language == "text"]
    printing = [text for text in shown if text.startswith(("[O1]", "Error"))]
    assert printing
    assert [text for text in printing if text not in printed] == []


def test_the_page_lists_the_tools_by_profile() -> None:
    core, more = PAGE.read_text(encoding="utf-8").partition("`--profile all` adds")[::2]
    assert set(re.findall(r"^\| `(\w+)`", core.partition("## Tools")[2], re.MULTILINE)) == set(CORE)
    rows = re.findall(r"^\| (`[\w`, ]+`) \|", more.partition("\nEvery answer")[0], re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(TOOLS) - set(CORE)


def test_the_page_names_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    options = {option for action in _parser("alma")._actions for option in action.option_strings if option.startswith("--")}
    assert [option for option in sorted(options - {"--help"}) if f"`{option}" not in text and f" {option}" not in text] == []
