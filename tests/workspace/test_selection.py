"""A change runs the sessions that depend on it; what is left out is named with its reason."""

from pathlib import Path
from typing import Any

import pytest

from selection import (
    MOST_WHOLE,
    SHARED,
    Choice,
    Extent,
    Record,
    Session,
    choose,
    closure,
    inputs,
    not_recorded,
    paths_below,
    read_projects,
    read_record,
    take_digest,
    take_digests,
    write_record,
)

ROOT = Path(__file__).resolve().parents[2]


def project(*dependencies: str, extras: dict[str, list[str]] | None = None, test: list[str] | None = None) -> dict[str, Any]:
    about = {"dependencies": list(dependencies), "optional-dependencies": extras or {}}
    return {"project": about, "dependency-groups": {"test": test or []}}


PROJECTS = {
    "words": project("numpy>=2.1"),
    "core": project("words>=0.1", "numpy>=2.1", extras={"model": ["model>=0.1"], "all": ["core[model]>=0.1", "door>=0.1"]}),
    "model": project("onnxruntime>=1.22"),
    "door": project("core>=0.1,<0.2", test=["harness>=0.1", "pytest>=9.0"]),
    "harness": project("core [model] >= 0.1"),
}
SESSIONS = {
    "words": Session(about=("packages/words", "tests/words"), installs=("words",)),
    "core": Session(about=("packages/core", "tests/core"), installs=("core",)),
    "harness": Session(about=("packages/harness", "tests/harness"), installs=("harness",), below=Extent.CONTRACTS),
    "door": Session(about=("packages/door", "tests/door"), installs=("door",), reads=("benchmarks",), below=Extent.CONTRACTS),
    "door-lowest": Session(
        about=("packages/door", "tests/door"), installs=("door",), own=Extent.CONTRACTS, below=Extent.CONTRACTS
    ),
    "rare": Session(about=("tests/rare",), installs=("core",), below=Extent.NOTHING),
    "lint": Session(about=(), always=True),
}
KNOWN = dict.fromkeys(inputs(SESSIONS.values(), PROJECTS), "as before")
COMPLETE = Record(frozenset(SESSIONS), KNOWN)
N, C, W = Extent.NOTHING, Extent.CONTRACTS, Extent.WHOLE


def chosen(*changed: str, record: Record = COMPLETE) -> dict[str, Choice]:
    digests = KNOWN | dict.fromkeys(changed, "otherwise")
    return {choice.session: choice for choice in choose(SESSIONS, PROJECTS, digests, record)}


def extents(*changed: str, record: Record = COMPLETE) -> list[Extent]:
    return [choice.extent for choice in chosen(*changed, record=record).values()]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        #                              words core harness door lowest rare lint
        ((), [N, N, N, N, N, N, W]),
        (("packages/door",), [N, N, N, W, C, N, W]),
        (("tests/door",), [N, N, N, W, C, N, W]),
        (("tests/core",), [N, W, N, N, N, N, W]),
        (("packages/harness",), [N, N, W, C, C, N, W]),
        (("packages/model",), [N, N, C, C, C, N, W]),
        (("packages/core",), [N, W, C, C, C, N, W]),
        (("packages/words",), [W, W, C, C, C, N, W]),
        (("packages/core", "packages/door"), [N, W, C, W, C, N, W]),
        (("benchmarks",), [N, N, N, C, N, N, W]),
        (("tests/rare",), [N, N, N, N, N, W, W]),
    ],
)
def test_a_change_runs_what_depends_on_it_and_only_contracts_of_what_stands_on_it(
    changed: tuple[str, ...], expected: list[Extent]
) -> None:
    assert extents(*changed) == expected


def test_a_change_through_more_packages_than_fit_runs_their_contracts() -> None:
    doors = [f"door{number}" for number in range(MOST_WHOLE + 1)]
    sessions = {door: Session(about=(f"packages/{door}",), below=Extent.CONTRACTS) for door in doors}
    sessions["core"] = Session(about=("packages/core",))
    known = dict.fromkeys(inputs(sessions.values(), {}), "as before")

    def extents_of(count: int) -> list[Extent]:
        digests = known | dict.fromkeys(["packages/core", *(f"packages/{door}" for door in doors[:count])], "otherwise")
        return [choice.extent for choice in choose(sessions, {}, digests, Record(frozenset(sessions), known))]

    assert extents_of(MOST_WHOLE) == [*[W] * MOST_WHOLE, N, W]
    assert extents_of(MOST_WHOLE + 1) == [*[C] * (MOST_WHOLE + 1), W]


@pytest.mark.parametrize("shared", SHARED)
def test_a_change_of_what_all_sessions_share_runs_all_of_them(shared: str) -> None:
    assert extents(shared) == [W, W, C, C, C, N, W]


def test_without_a_complete_run_every_session_is_run() -> None:
    assert extents(record=Record(frozenset(), {})) == [W, W, W, W, C, W, W]


def test_a_session_that_no_complete_run_has_had_is_run() -> None:
    assert extents(record=Record(frozenset(SESSIONS) - {"door"}, KNOWN)) == [N, N, N, W, N, N, W]


@pytest.mark.parametrize(
    ("changed", "missing", "expected"),
    [
        ((), set(), ["lint"]),
        ((), {"door"}, ["door", "lint"]),
        (("packages/harness",), set(), ["harness", "door", "door-lowest", "lint"]),
        (("packages/core",), {"words"}, ["words", "core", "harness", "door", "door-lowest", "rare", "lint"]),
    ],
)
def test_a_second_complete_run_has_whole_what_the_first_did_not_have_on_these_files(
    changed: tuple[str, ...], missing: set[str], expected: list[str]
) -> None:
    digests = KNOWN | dict.fromkeys(changed, "otherwise")
    assert not_recorded(SESSIONS, PROJECTS, digests, Record(frozenset(SESSIONS) - missing, KNOWN)) == expected


def test_a_path_that_the_record_does_not_have_is_a_changed_path() -> None:
    known = {path: digest for path, digest in KNOWN.items() if path != "tests/harness"}
    assert chosen(record=Record(frozenset(SESSIONS), known))["harness"].extent is W


def test_every_choice_gives_its_reason() -> None:
    reasons = {name: choice.reason for name, choice in chosen("packages/core", "tests/core", "packages/harness").items()}
    assert reasons["words"] == "nothing that it depends on has changed"
    assert reasons["core"] == "changed: packages/core, tests/core"
    assert reasons["door"] == "changed below it: packages/core, packages/harness"
    assert reasons["lint"] == "always runs"


@pytest.mark.parametrize(
    ("requirement", "has_groups", "expected"),
    [
        ("words>=0.1", True, ["words"]),
        ("core", True, ["core", "words"]),
        ("core[model]", True, ["core", "model", "words"]),
        ("core[all]>=0.1,<0.2", True, ["core", "door", "model", "words"]),
        ("door", True, ["core", "door", "harness", "model", "words"]),
        ("door", False, ["core", "door", "words"]),
        ("numpy>=2.1", True, []),
    ],
)
def test_the_packages_below_are_those_that_the_requirements_install(
    requirement: str, has_groups: bool, expected: list[str]
) -> None:
    assert closure([requirement], PROJECTS, has_groups=has_groups) == expected


def test_a_digest_changes_with_any_content_and_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    seen = [take_digest(folder)]
    for name, content in (("a", "1"), ("a", "2"), ("inner/a", "2"), ("inner/b", "")):
        (folder / name).write_text(content)
        seen.append(take_digest(folder))
    (folder / "inner/b").rename(folder / "inner/c")
    seen += [take_digest(folder), take_digest(folder / "a")]
    assert len({*seen}) == len(seen)


def test_a_digest_is_of_what_is_kept_and_not_of_what_tools_leave(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("1")
    for made in ("__pycache__", "dist", "node_modules"):
        (tmp_path / "two" / made).mkdir()
        (tmp_path / "two" / made / "module.pyc").write_text("made")
    (tmp_path / "two/.hypothesis").write_text("examples")
    assert take_digest(tmp_path / "one") == take_digest(tmp_path / "two")


def test_a_complete_run_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    assert read_record(tmp_path) == Record(frozenset(), {})
    (tmp_path / "file").write_text("1")
    record = Record(frozenset({"core", "lint"}), take_digests(tmp_path, ["file"]))
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record


def test_the_packages_of_the_workspace_are_found_by_their_own_files() -> None:
    projects = read_projects(ROOT)
    assert set(projects) == {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")}
    below = paths_below(Session(about=("packages/alma-mcp",), installs=("alma-mcp",)), projects)
    assert {"packages/alma-core", "packages/alma-harness", "uv.lock"} <= below
    assert not {"packages/alma-mcp", "packages/alma-crewai", "packages/alma-langchain"} & below
