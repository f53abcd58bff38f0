"""The TypeScript client where something fails, and as a package."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "packages" / "alma-memory-js"
SUITES = {path.name.removesuffix(".test.mjs") for path in (CLIENT / "test").glob("*.test.mjs")}


@pytest.mark.slow
@pytest.mark.parametrize("suite", sorted(SUITES - {"calls"}))
def test_the_suites_of_the_client_pass(suite: str, run_suite: Callable[[str], None]) -> None:
    run_suite(suite)


def test_the_client_has_the_version_of_the_packages() -> None:
    package, lock = (json.loads((CLIENT / name).read_text("utf-8")) for name in ("package.json", "package-lock.json"))
    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {version("alma-core")}


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
