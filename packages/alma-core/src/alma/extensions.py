"""Names of `alma` that packages of their own provide: each package is imported when a name of it is first used."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from alma.errors import MissingDependencyError


def extension(package: str, extra: str, what: str) -> ModuleType:
    """Returns a module of a package beside the core. `MissingDependencyError` names the extra to install if the package is not there."""
    if find_spec(package.partition(".")[0]) is None:
        raise MissingDependencyError(f'{what} not installed: pip install "alma-core[{extra}]"')
    return import_module(package)


def forwarding(own: str, package: str, *, extra: str, what: str) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a module of the core that stands for a module of a package, with the names of its `__all__`."""

    def attribute(name: str) -> Any:
        if name == "__all__" or not name.startswith("_"):
            module = extension(package, extra, what)
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {own!r} has no attribute {name!r}")

    return attribute
