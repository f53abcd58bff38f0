"""Checks what an adapter relies on in a framework beside its documented interface, so that a version that changed it is noticed."""

import logging
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

_LOG = logging.getLogger("alma")
_DECLARED = ("__private_attributes__", "model_fields", "__annotations__", "__dataclass_fields__")


def check_parts(adapter: str, framework: str, parts: Iterable[str]) -> list[str]:
    """Returns the parts that an installed framework lacks, and logs one warning that names them. `adapter` and `framework` are distributions.

    A part is `module:Class.attribute`, or `module:function(parameter)`.
    """
    missing = [part for part in parts if not _is_there(part)]
    if missing:
        _LOG.warning(
            "%s relies on what %s %s does not have: %s. Runs may be recorded in part or not at all; install a version that %s was tested with",
            *(adapter, framework, _version_of(framework), ", ".join(missing), adapter),
        )
    return missing


def _is_there(part: str) -> bool:
    module, _, path = part.partition(":")
    names, _, parameter = path.partition("(")
    try:
        found: Any = import_module(module)
        for name in names.split("."):
            found = _member(found, name)
        return not parameter or parameter.rstrip(")") in signature(found).parameters
    except (ImportError, AttributeError, TypeError, ValueError):
        return False


def _member(owner: Any, name: str) -> Any:
    """Returns an attribute of a module or a class, also one that only instances have but the class declares."""
    declared = (getattr(each, kind, None) or {} for each in getattr(owner, "__mro__", ()) for kind in _DECLARED)
    return next((found[name] for found in declared if name in found), None) or getattr(owner, name)


def _version_of(framework: str) -> str:
    try:
        return version(framework)
    except PackageNotFoundError:
        return "of an unknown version"
