"""Small records of packages that stand on ALMA, and the values of workflows, which are kept in such.

A dot in their kind, as in `workflow.checkpoint`, sets them apart from the core's own.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field

from alma.types.identity import UtcDatetime, Value

KIND = re.compile(r"[a-z][a-z_]{0,39}\.[a-z][a-z_]{0,39}")


def is_of_package(kind: str) -> bool:
    """Returns True for a kind of a package, False for one of the core."""
    return "." in kind


REFERENCES = "references"
"""The key of a body that lists the ids of the memories that a record says something of."""


MADE = "made"
"""The key of a body that lists the ids of memories which were made of its `references`: they are purged with any of these."""


def references_in(body: Mapping[str, Any], key: str = REFERENCES) -> Collection[str]:
    """Returns the ids of the memories that a stored record says something of, or with `MADE` of those that were made of them."""
    named = body.get(key)
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []


class Record(Value):
    """A small record as it is stored. Each change raises its version by one; the first is 1."""

    key: str
    version: int
    body: dict[str, Any]


MAIN = "main"
"""Branch of a checkpoint for which none is named."""


class Checkpoint(Value):
    """The state of a workflow at one moment. `number` counts the checkpoints of the workflow, from 1."""

    workflow_id: str
    number: int
    state: dict[str, Any]
    metadata: dict[str, Any] = Field(default_factory=dict)
    branch: str = MAIN
    node: str | None = None
    name: str | None = None
    user_id: str | None = None
    created_at: UtcDatetime


class Artifact(Value):
    """A thing that a workflow produced, by reference. `checksum` is `sha256:` and 64 hexadecimal digits, if one is known."""

    workflow_id: str
    artifact_type: str
    ref: str
    checksum: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    user_id: str | None = None
    created_at: UtcDatetime
