"""Small records of packages that stand on ALMA. A dot in their kind, as in `workflow.checkpoint`, sets them apart from the core's own."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from alma.types.value import Value

KIND = re.compile(r"[a-z][a-z_]{0,39}\.[a-z][a-z_]{0,39}")


def is_of_package(kind: str) -> bool:
    """Returns True for a kind of a package, False for one of the core."""
    return "." in kind


REFERENCES = "references"
"""The key of a body that lists the ids of the memories that a record says something of."""


def references_in(body: Mapping[str, Any]) -> Collection[str]:
    """Returns the ids of the memories that a stored record says something of."""
    named = body.get(REFERENCES)
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []


class Record(Value):
    """A small record as it is stored. Each change raises its version by one; the first is 1."""

    key: str
    version: int
    body: dict[str, Any]
