"""Drivers of graph databases, each behind an extra of alma-graph."""

from importlib import import_module
from typing import Any

from alma.errors import MissingDependencyError


def load(module: str, extra: str) -> Any:
    """Returns a driver's module. `MissingDependencyError` says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise missing_driver(module, extra) from missing


def missing_driver(package: str, extra: str) -> MissingDependencyError:
    """Returns the error of a backend whose driver is not installed."""
    return MissingDependencyError(
        f"this graph backend needs {package}, which is not installed: pip install {package}, the extra alma-graph[{extra}]"
    )
