"""Values of workflows: checkpoints of their state, and artifacts that they produced."""

from typing import Any

from pydantic import Field

from alma.types.identity import UtcDatetime
from alma.types.value import Value

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
