"""The page of the server runs as written, and says what there is."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from alma_access import RIGHTS, SOURCES, Access, TokenFile
from alma_server.options import ServerBlock
from api_processes import serving
from documents import ROOT, documents, name_of, run_blocks
from run_document import blocks

(PAGE,) = documents("server")
TEXT = PAGE.read_text(encoding="utf-8")


def blocks_of(language: str) -> list[str]:
    return [block.text for block in blocks(TEXT) if block.language == language]


def cells(after: str) -> list[str]:
    """The first cells of the first table after a text."""
    table = TEXT.partition(after)[2].partition("\n| ")[2].partition("\n\n")[0]
    return [row.partition("|")[0].strip(" |") for row in table.split("\n| ")[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("document", [PAGE], ids=name_of)
def test_the_blocks_of_the_page_run_as_written(document: Path, tmp_path: Path) -> None:
    assert "alma_" in run_blocks(document, tmp_path)


@pytest.mark.slow
def test_the_requests_of_the_page_are_answered(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (block,) = [text for text in blocks_of("text") if "export TOKEN" in text]
    commands = [line for line in block.replace("\\\n", " ").splitlines() if line.startswith("curl")]
    with serving(tmp_path) as server:
        token = TokenFile(tmp_path / ".alma").add(
            "laptop", Access("helena", projects=("shop",), rights=frozenset({"read", "write"}))
        )
        address = server.address.removeprefix("http://")
        script = "\n".join(command.replace("localhost:8765", address) for command in commands)
        answers = [
            json.loads(subprocess.run(["bash", "-c", each], env={"TOKEN": token}, capture_output=True, check=True).stdout)
            for each in script.splitlines()
        ]
    assert answers[0]["agent"] == "helena"
    assert answers[1]["id"] in answers[2]["ids"]
    assert "Empty fields first" in answers[2]["prompt"]


def test_the_page_has_every_key_of_the_block_and_every_right() -> None:
    keys = {key for cell in cells("## Options") for key in re.findall(r"`(\w+)`", cell)}

    assert keys == set(ServerBlock.model_fields)
    assert all(f"| `{right}` |" in TEXT for right in RIGHTS)
    assert all(f"`{source}`" in TEXT for source in SOURCES)


def test_the_configurations_of_the_page_are_read() -> None:
    for text in blocks_of("yaml"):
        given = yaml.safe_load(text)
        if "server" in given:
            ServerBlock.model_validate(given["server"])


def test_every_file_that_the_page_names_is_there() -> None:
    assert [name for name in re.findall(r"\bdeploy/[\w.-]+\w", TEXT) if not (ROOT / name).is_file()] == []


def test_the_page_installs_what_the_image_installs() -> None:
    step = re.search(r"uv sync (?:.*\\\n)*.*", (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    assert step is not None
    written = next(text for text in blocks_of("text") if "uv sync" in text)
    assert " ".join(step[0].replace("\\\n", " ").split()) in " ".join(written.replace("\\\n", " ").split())
