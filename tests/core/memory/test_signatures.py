"""Public methods show their signatures to `help` and to editors, and each stands in the one wrapper."""

import inspect

import pytest

from alma import ALMA
from alma.memory.administration import Admin

METHODS = [
    pytest.param(getattr(cls, name), id=f"{cls.__name__}.{name}")
    for cls in (ALMA, Admin)
    for name in dir(cls)
    if not name.startswith("_") and inspect.isfunction(getattr(cls, name))
]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_shows_self_its_arguments_and_its_words(method: object) -> None:
    assert callable(method)
    first, *others = inspect.signature(method).parameters.values()
    assert first.name == "self"
    assert all(other.annotation is not other.empty for other in others if other.name != "agent")
    assert inspect.getdoc(method)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_wrapped_once(method: object) -> None:
    inner = getattr(method, "__wrapped__", None)
    assert inner is not None, "decorate it with @operation, or forward it"
    assert not hasattr(inner, "__wrapped__")
