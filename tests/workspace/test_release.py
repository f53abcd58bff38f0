"""A release names what keeps its wheels from being published, serves them as an index, and tries every package."""

import zipfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from release import TRIALS, find_problems, serve
from selection import closure, read_projects

ROOT = Path(__file__).resolve().parents[2]
METADATA = """Metadata-Version: 2.4
Name: alma-one
Version: {version}
Summary: One of the packages.
License-Expression: MIT
Keywords: memory
Classifier: Typing :: Typed
Requires-Python: >=3.11
Requires-Dist: numpy>=2.1
{more}
# alma-one

It is one.
"""
ONE: dict[str, dict[str, Any]] = {"alma-one": {}}


def build(
    folder: Path, name: str = "alma_one", *, version: str = "1.0", more: str = "", without: str = "", extra: str = ""
) -> Path:
    """Writes a wheel as it should be, but for what is named."""
    about = f"{name}-{version}.dist-info"
    files = [f"{name}/__init__.py", f"{name}/py.typed", f"{about}/licenses/LICENSE", f"{about}/METADATA", *extra.split()]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            if not without or without not in file:
                archive.writestr(file, METADATA.format(version=version, more=more) if file.endswith("METADATA") else "")
    return path


def test_a_good_wheel_has_no_problem(tmp_path: Path) -> None:
    build(tmp_path)
    assert find_problems(tmp_path, ONE) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"without": "py.typed"}, "alma-one: alma_one has no py.typed"),
        ({"without": "LICENSE"}, "alma-one: it holds no licence"),
        ({"extra": "alma_one/tests/test_it.py"}, "alma-one: it holds tests: ['alma_one/tests/test_it.py']"),
        ({"extra": "conftest.py"}, "alma-one: it holds 2 modules: ['alma_one', 'conftest.py']"),
        ({"more": "Requires-Dist: alma-two>=1.0\n"}, "alma-one: alma-two is required and has no wheel"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_named(changes: dict[str, str], problem: str, tmp_path: Path) -> None:
    build(tmp_path, **changes)
    assert problem in find_problems(tmp_path, ONE)


def test_a_package_that_only_requires_others_holds_no_code(tmp_path: Path) -> None:
    build(tmp_path, "alma_memory")
    assert find_problems(tmp_path, {"alma-memory": {}}) == ["alma-memory: it holds 1 modules: ['alma_memory']"]
    build(tmp_path, "alma_memory", without="alma_memory/")
    assert find_problems(tmp_path, {"alma-memory": {}}) == []


def test_wheels_of_two_versions_or_of_unknown_packages_are_named(tmp_path: Path) -> None:
    build(tmp_path)
    build(tmp_path, "alma_two", version="1.1")
    problems = find_problems(tmp_path, {"alma-one": {}, "alma-three": {}})
    assert "alma-three: no wheel was built" in problems
    assert "alma-two: no package of the workspace has this name" in problems
    assert any(problem.startswith("more than one version") for problem in problems)


def test_the_index_lists_the_wheels_of_a_package_and_knows_no_other(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    with serve([wheel], tmp_path / "index") as index:
        page = urlopen(f"{index}/alma-one/").read().decode()
        assert f'href="{wheel.name}"' in page
        assert urlopen(f"{index}/alma-one/{wheel.name}").read() == wheel.read_bytes()
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{index}/numpy/")


def test_a_release_tries_every_package() -> None:
    projects = read_projects(ROOT)
    tried = closure([each for trial in TRIALS for each in trial.requirements], projects, has_groups=False)
    assert set(projects) - set(tried) == set()
