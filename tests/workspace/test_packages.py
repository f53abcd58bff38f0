"""The packages of the workspace agree with one another and with the house rules."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = sorted((ROOT / "packages").glob("*/pyproject.toml"))
WITH_CODE = [path for path in MEMBERS if path.parent.name != "alma-memory"]
DOORS = [path for path in WITH_CODE if path.parent.name not in ("alma-core", "alma-minilm")]
PUBLIC = {
    "alma",
    "alma.config",
    "alma.embedding",
    "alma.errors",
    "alma.encryption",
    "alma.files",
    "alma.forking",
    "alma.integration",
    "alma.progress",
    "alma.protocols",
    "alma.session",
    "alma.storage.relational.session",
    "alma.storage.sqlite",
    "alma.telemetry",
    "alma.testing",
    "alma.text",
    "alma.types",
    "alma_integration",
}
"""What other packages may import from."""

OPEN = ("alma.types.", "alma.storage.relational.", "alma.storage.sqlite.")
"""Rooms whose modules are public one by one; the last two are what a store of another package stands on."""

BESIDES = {
    "alma-access": {"alma.folders"},
    "alma-cli": {"alma.memory.arguments", "alma.memory.room", "alma.memory.transfer.intake"},
    "alma-encryption": {"alma.folders", "alma.journal"},
    "alma-events": {"alma.memory.alma"},
    "alma-files": {"alma.folders", "alma.journal"},
    "alma-graph": {
        *("alma.aio.workers", "alma.config.loading", "alma.forking", "alma.journal"),
        *("alma.memory.alma", "alma.memory.arguments", "alma.memory.package_records", "alma.memory.room"),
    },
    "alma-integration": {"alma.episode", "alma.memory.alma", "alma.memory.arguments", "alma.memory.package_records"},
    "alma-knowledge": {
        *("alma.config.loading", "alma.embedding.endpoint", "alma.memory.alma", "alma.memory.arguments"),
        *("alma.memory.episodes.records", "alma.memory.learn.adding", "alma.memory.learn.messages", "alma.memory.learn.storing"),
        "alma.memory.room",
    },
    "alma-upgrade": {"alma.folders", "alma.journal"},
    "alma-server": {"alma.memory.alma"},
    "alma-testing": {"alma.journal", "alma.observing", "alma.retrieval"},
}
"""What one package imports from besides. alma-access locks the file of its tokens; alma-cli reads databases of other programs and has the core
take the rows in; the files of alma-files are journals, and alma-encryption and alma-upgrade put whole files in the place of others;
alma-integration publishes names of episodes and records; alma-events keeps positions beside memories; alma-graph keeps records and a cache of
them that follows the journal, and runs in the threads of `AsyncALMA`; alma-knowledge checks a block of the
configuration of its own, asks models over HTTP as embedders do, reads the messages of a conversation and the steps of an episode as the core does,
and merges memories in one write; alma-server frees the caches of projects; alma-testing checks stores against the pure rules of the core."""

PROJECTS = [ROOT / "pyproject.toml", *MEMBERS]


def read(project: Path) -> dict[str, Any]:
    return tomllib.loads(project.read_text(encoding="utf-8"))


def requirements(project: dict[str, Any]) -> Iterator[str]:
    yield from project["project"].get("dependencies", [])
    yield from project.get("build-system", {}).get("requires", [])
    for group in (project["project"].get("optional-dependencies", {}), project.get("dependency-groups", {})):
        for members in group.values():
            yield from (member for member in members if isinstance(member, str))


def name_of(project: Path) -> str:
    return project.parent.name


def test_all_packages_have_one_version() -> None:
    assert {read(project)["project"]["version"] for project in PROJECTS} == {"0.1.0"}


@pytest.mark.parametrize("project", WITH_CODE, ids=name_of)
def test_a_module_that_states_a_version_states_that_of_its_package(project: Path) -> None:
    (module,) = (project.parent / "src").glob("*/__init__.py")
    stated = re.findall(r'^__version__ = "(.+)"$', module.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(stated) <= {read(project)["project"]["version"]}


@pytest.mark.parametrize("project", PROJECTS, ids=name_of)
def test_every_dependency_has_a_lower_bound(project: Path) -> None:
    own = re.compile(r"^alma-core\[")  # the root takes the workspace's own core
    assert [each for each in requirements(read(project)) if ">=" not in each and not own.match(each)] == []


@pytest.mark.parametrize("project", PROJECTS, ids=name_of)
def test_all_packages_run_on_the_same_pythons(project: Path) -> None:
    assert read(project)["project"]["requires-python"] == ">=3.11,<3.14"


@pytest.mark.parametrize("project", WITH_CODE, ids=name_of)
def test_a_package_carries_its_types(project: Path) -> None:
    (module,) = [path for path in (project.parent / "src").iterdir() if path.is_dir()]
    assert (module / "py.typed").is_file()


@pytest.mark.parametrize("project", MEMBERS, ids=name_of)
def test_a_package_keeps_no_tool_configuration_of_its_own(project: Path) -> None:
    assert set(read(project)["tool"]) <= {"hatch", "uv"}


@pytest.mark.parametrize("project", MEMBERS, ids=name_of)
def test_a_package_can_be_found_by_what_it_is_for(project: Path) -> None:
    about = read(project)["project"]
    assert about["keywords"]
    assert any(each.startswith("Topic ::") for each in about["classifiers"])


@pytest.mark.parametrize("project", MEMBERS, ids=name_of)
def test_a_package_takes_the_others_of_its_own_minor_version_alone(project: Path) -> None:
    ours = [each for each in requirements(read(project)) if each.startswith("alma-")]
    assert [each for each in ours if not each.endswith(">=0.1.0,<0.2")] == []


@pytest.mark.parametrize("project", DOORS, ids=name_of)
def test_a_package_that_stands_on_the_core_imports_public_names_alone(project: Path) -> None:
    found = set()
    for path in (project.parent / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "alma":
                found.add(node.module)
    allowed = PUBLIC | BESIDES.get(name_of(project), set())
    assert {each for each in found if each not in allowed and not each.startswith(OPEN)} == set()


@pytest.mark.parametrize("folder", [ROOT, *(path.parent for path in MEMBERS)], ids=lambda folder: folder.name)
def test_documents_that_readmes_and_code_name_are_there(folder: Path) -> None:
    sources = [folder / "README.md", *sorted((folder / "src").rglob("*.py"))]
    named = {found for source in sources for found in re.findall(r"\bdocs/[\w/-]+\.md\b", source.read_text(encoding="utf-8"))}
    assert {name for name in named if not (ROOT / name).is_file()} == set()
