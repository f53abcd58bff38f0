"""A process whose system calls fail on demand, and stores for it that were made once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from failing_calls import CAN_FAIL, WHY_NOT, Faulty, build
from fault_checks import NewPlace


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CAN_FAIL:
        pytest.skip(WHY_NOT)
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which calls may fail."""
    return tmp_path_factory.mktemp("stage")


@pytest.fixture(scope="session")
def process(library: Path, stage: Path) -> Iterator[Faulty]:
    with Faulty(library, stage) as faulty:
        yield faulty


@pytest.fixture(scope="session")
def made(process: Faulty, stage: Path) -> dict[str, Path]:
    """Closed stores by what they are: of SQLite, of files, encrypted."""
    options = {"sqlite": {}, "file": {"storage": "file"}, "encrypted": {"encryption_key": bytes(range(32)).hex()}}
    for name, given in options.items():
        (stage / name).mkdir()
        process.ask_well("make", stage / name, options=given)
    return {name: stage / name for name in options}


@pytest.fixture
def new_place(made: dict[str, Path], stage: Path) -> Iterator[NewPlace]:
    """Returns a copy of a store, at each call in the place of the one before."""
    place = stage / "place"

    def new(store: str) -> Path:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made[store], place)
        return place

    yield new
    shutil.rmtree(place, ignore_errors=True)
