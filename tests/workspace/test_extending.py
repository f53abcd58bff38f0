"""What `docs/guides/extending.md` says it takes to extend ALMA is what it takes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import alma
from run_document import blocks

ROOT = Path(__file__).parents[2]
SOURCE = Path(alma.__file__).parent

PROCEDURES = """
from alma import ALMA

with ALMA.open("memory", project_id="shop", embedding_provider="hash", agents={"dev": {"share_with": ["qa"]}}) as one:
    made = one.add("procedure", agent="dev", goal="Release the service", steps=["tag", "build", "deploy"])
    one.learn("dev", "Release the service", "success", "By hand")
    found = one.retrieve("How do I release the service?", "qa")
    assert [memory.id for memory in found if memory.kind == "procedure"] == [made.id], found
    assert "How it is done:\\n[R1] Release the service: tag; build; deploy (from dev)" in found.to_prompt(), found.to_prompt()
    assert found.cited("as [r1] says") == [made.id]
    assert one.record_usage(found.ids, found.cited("[R1]"), agent="qa").used == (made.id,)
    assert str(one.explain_retrieval("release", made.id, "dev")).startswith("Selected because")
    assert one.get_stats()["procedures_count"] == 1
    one.export("all.jsonl")
    before = one.content_hash()
    assert one.forget(memory_ids=[made.id]).total == 1
    assert not [memory for memory in one.retrieve("release", "dev") if memory.kind == "procedure"]
    one.undo(to=3)
    assert one.verify().ok
    try:
        one.add("procedure", agent="dev", goal="Release")
    except Exception as error:
        assert "procedure.steps" in str(error), error
    else:
        raise AssertionError("a procedure without steps was stored")

with ALMA.open("copy", project_id="shop", embedding_provider="hash") as other:
    other.import_from("all.jsonl")
    assert other.get(made.id).steps == ("tag", "build", "deploy")
    assert other.content_hash() == before
"""


@pytest.mark.slow
def test_a_new_built_in_kind_takes_two_files(tmp_path: Path) -> None:
    package = tmp_path / "source" / "alma"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    changes = [block.text for block in blocks((ROOT / "docs/guides/extending.md").read_text("utf-8")) if block.language == "diff"]

    changed = {_applied(change, package.parent) for change in changes}

    assert len(changed) == 2
    done = subprocess.run(
        [sys.executable, "-c", PROCEDURES],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def _applied(change: str, folder: Path) -> str:
    """Makes a change in the form of the document: the file, then pieces, each with lines to find and lines to add."""
    first, *pieces = re.split(r"^@@\n", change, flags=re.MULTILINE)
    name = first.removeprefix("+++ ").strip()
    file = folder / name
    text = file.read_text("utf-8")
    for piece in pieces:
        lines = piece.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] == " ")
        assert text.count(before) == 1, f"{name} has no such place: {before}"
        text = text.replace(before, "".join(line[1:] or "\n" for line in lines))
    file.write_text(text, "utf-8")
    return name
