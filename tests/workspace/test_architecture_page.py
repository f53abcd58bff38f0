"""`docs/reference/architecture.md` names modules, rooms and packages that exist, and all of them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/architecture.md").read_text("utf-8")
PACKAGES = ROOT / "packages"
CORE = PACKAGES / "alma-core/src/alma"
NAMED = sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`", PAGE)))
"""Modules such as `memory/alma.py` and `journal.py`, rooms such as `aio/`."""


@pytest.mark.parametrize("path", NAMED)
def test_a_module_that_the_page_names_exists(path: str) -> None:
    package = path.partition("/")[0]
    homes = (CORE, CORE / "memory", CORE / "storage", PACKAGES / package.replace("_", "-") / "src")
    assert any((home / path).exists() for home in homes), f"docs/reference/architecture.md names {path}, which does not exist"


def test_the_page_names_every_room_and_package() -> None:
    rooms = {f"{path.parent.name}/" for path in CORE.glob("*/__init__.py")}
    packages = {path.parent.name for path in PACKAGES.glob("*/pyproject.toml")}
    assert rooms - set(NAMED) == set()
    assert {package for package in packages if f"`{package}`" not in PAGE} == set()


def test_the_page_can_be_read_at_one_sitting() -> None:
    assert len(PAGE.splitlines()) <= 150
