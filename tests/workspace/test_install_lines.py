"""The command that a message gives for an extra names every package of ALMA that the extra needs: none of them is on an index."""

import re
import tomllib
from pathlib import Path

import pytest

from alma.errors import install_line

ROOT = Path(__file__).parents[2]
CORE = tomllib.loads((ROOT / "packages" / "alma-core" / "pyproject.toml").read_text("utf-8"))["project"]


def packages_in(requirements: list[str]) -> set[str]:
    """The packages of ALMA among requirements."""
    return {name for each in requirements if (name := re.split(r"[^a-z-]", each)[0]).startswith("alma-")}


ALWAYS_THERE = {"alma-core", *packages_in(CORE["dependencies"])}


def needed(requirements: list[str]) -> set[str]:
    """The packages of ALMA among requirements, with those that these need, but for those that the core needs itself."""
    found = packages_in(requirements) - ALWAYS_THERE
    for name in set(found):
        described = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text("utf-8"))["project"]
        found |= needed(described["dependencies"])
    return found


@pytest.mark.parametrize("extra", sorted({*CORE["optional-dependencies"]} - {"all"}))
def test_the_line_names_all_packages_that_the_extra_needs_and_where_each_is(extra: str) -> None:
    line = install_line(extra)
    first, *others = re.findall(r'"(\S+) @ git\+URL#subdirectory=packages/(\S+)"', line)

    assert first == (f"alma-core[{extra}]", "alma-core")
    assert {name for name, folder in others if name == folder} == needed(CORE["optional-dependencies"][extra])


def test_the_readme_has_the_line_in_the_same_form() -> None:
    told = (ROOT / "README.md").read_text("utf-8")

    for package in ("alma-core", "alma-minilm", "alma-cli"):
        assert f' @ git+URL#subdirectory=packages/{package}"' in told
        assert f' @ git+URL#subdirectory=packages/{package}"' in install_line("local") + install_line("cli")


def test_the_readme_names_all_packages_to_install_from_a_clone() -> None:
    (names,) = re.findall(r"^pip install PATH/packages/alma-\{(\S+)\}", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    wanted = [each for extra in ("local", "cli") for each in CORE["optional-dependencies"][extra]]

    assert {f"alma-{name}" for name in names.split(",")} == ALWAYS_THERE | needed(wanted)
