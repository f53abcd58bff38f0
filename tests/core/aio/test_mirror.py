"""`AsyncALMA` has every method of `ALMA`, `AsyncEpisode` every one of `Episode`: same names, same arguments, same words."""

import inspect
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from alma import ALMA, AsyncALMA, Episode
from alma.aio import AsyncEpisode
from alma.aio.alma import AsyncAdmin
from alma.memory.administration import Admin
from async_stub import STUB, stub

OPENED = {"open", "from_config", "quickstart", "episode", "resume_episode", "remembers", "events"}
"""What is opened, to be awaited or entered; a decorator; and what is gone through, by `async for`."""


def _public(cls: type) -> Mapping[str, Any]:
    return {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}


def _parameters(function: Any) -> list[tuple[str, Any, Any]]:
    found = [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
    return [parameter for parameter in found if parameter[0] not in ("self", "cls")]


PAIRS = [(ALMA, AsyncALMA), (Admin, AsyncAdmin), (Episode, AsyncEpisode)]
METHODS = [
    pytest.param(getattr(sync, name), getattr(mirror, name, None), name, id=f"{sync.__name__}.{name}")
    for sync, mirror in PAIRS
    for name, value in _public(sync).items()
    if not isinstance(value, property)
]


@pytest.mark.parametrize(("sync", "mirror"), PAIRS)
def test_the_public_names_are_the_same(sync: type, mirror: type) -> None:
    assert set(_public(sync)) == set(_public(mirror))


@pytest.mark.parametrize(("sync", "mirror"), PAIRS)
def test_what_is_a_property_stays_one(sync: type, mirror: type) -> None:
    def properties(cls: type) -> dict[str, str | None]:
        return {name: value.__doc__ for name, value in _public(cls).items() if isinstance(value, property)}

    assert properties(mirror) == properties(sync)


@pytest.mark.parametrize(("method", "mirrored", "name"), METHODS)
def test_a_method_takes_the_same_arguments_and_is_awaited(method: Any, mirrored: Any, name: str) -> None:
    assert _parameters(mirrored) == _parameters(method)
    assert inspect.iscoroutinefunction(mirrored) is (name not in OPENED)
    assert inspect.getdoc(mirrored)


@pytest.mark.parametrize(("method", "mirrored", "name"), METHODS)
def test_no_method_gives_its_answer_piece_by_piece(method: Any, mirrored: Any, name: str) -> None:
    """Such a one would do its work on the event loop, after the worker thread has returned."""
    assert not inspect.isgeneratorfunction(method)
    assert "Iterator" not in str(inspect.signature(method).return_annotation)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the text of an annotation differs between versions of Python")
def test_the_stub_that_editors_read_has_the_signatures_of_alma() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run `python tests/support/async_stub.py`"
