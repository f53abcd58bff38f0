"""The package of the published name has the published extras, and each of them brings what it names."""

import re
from pathlib import Path

import pytest

from selection import closure, read_projects

ROOT = Path(__file__).parents[2]
PROJECTS = read_projects(ROOT)
PROJECT = PROJECTS["alma-memory"]["project"]
EXTRAS = {"local", "quickstart", "azure", "postgres", "qdrant", "chroma", "pinecone", "mcp", "rag", "observability", "dev", "all"}
"""Of alma-memory 0.11.0."""


def test_the_published_extras_exist_and_are_explained() -> None:
    readme = (ROOT / "packages/alma-memory/README.md").read_text("utf-8")
    explained = [name for line in re.findall(r"^\| (`.*?) \|", readme, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)]
    assert set(PROJECT["optional-dependencies"]) == EXTRAS
    assert sorted(explained) == sorted(EXTRAS)


@pytest.mark.parametrize(
    ("extra", "package"),
    [
        *[(name, f"alma-{name}") for name in ("azure", "chroma", "mcp", "pinecone", "postgres", "qdrant")],
        *[(name, "alma-minilm") for name in ("local", "quickstart", "all")],
        *[("all", f"alma-{name}") for name in ("azure", "chroma", "mcp", "pinecone", "postgres", "qdrant")],
        ("dev", "alma-testing"),
    ],
)
def test_an_extra_installs_its_package(extra: str, package: str) -> None:
    base = closure(["alma-memory"], PROJECTS, has_groups=False)
    assert package not in base
    assert package in closure([f"alma-memory[{extra}]"], PROJECTS, has_groups=False)
