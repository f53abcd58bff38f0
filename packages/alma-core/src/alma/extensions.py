"""Names of `alma` that packages of their own provide: each package is imported when a name of it is first used."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import MethodType, ModuleType
from typing import Any

from alma.errors import MissingDependencyError, install_line


def extension(package: str, extra: str, what: str) -> ModuleType:
    """Returns a module of a package beside the core. `MissingDependencyError` names the extra to install if the package is not there."""
    if find_spec(package.partition(".")[0]) is None:
        raise MissingDependencyError(f"{what} not installed: {install_line(extra)}")
    return import_module(package)


def forwarding(own: str, package: str, *, extra: str, what: str) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a module of the core that forwards to a module of a package, with the names of its `__all__`."""

    def attribute(name: str) -> Any:
        if name == "__all__" or not name.startswith("_"):
            module = extension(package, extra, what)
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {own!r} has no attribute {name!r}")

    return attribute


class LateMethod:
    """A method that a package beside the core provides. It is loaded when it is first looked up, and then stands in the class itself.

    Without the package the class can be looked at all the same: a call raises the `MissingDependencyError`.
    """

    def __init__(self, load: Callable[[str], Callable[..., Any]]) -> None:
        self._load = load

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        try:
            method = self._load(self._name)
        except MissingDependencyError as missing:
            return _refusal(self._name, str(missing))
        setattr(self._owner, self._name, method)
        return method if instance is None else MethodType(method, instance)


def _refusal(name: str, message: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise MissingDependencyError(message)

    refuse.__name__, refuse.__doc__ = name, message
    return refuse
