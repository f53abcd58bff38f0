"""Arguments that several tools share, described for the model that fills them in."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from alma.types import Verdict as KnownVerdict

HIDDEN = "x-alma-hidden"
"""Marks an argument that is accepted and left out of the schema."""


def _checked_text(text: str, given: ValidationInfo) -> str:
    if not text.strip():
        raise ValueError(f"{given.field_name} is empty")
    return text


Agent = Annotated[str | None, Field(description="Your agent name.")]
UserId = str | None
TaskType = Annotated[str | None, Field(description="Category, e.g. deployment.")]
TopK = Annotated[int, Field(description="Most of each kind.")]
Task = Annotated[str, AfterValidator(_checked_text), Field(description="The task in one sentence.")]
Verdict = Annotated[
    str, AfterValidator(KnownVerdict.checked), Field(json_schema_extra={"enum": ["success", "failure", "partial", "unverified"]})
]
MemoryId = Annotated[str, Field(description="Id of a memory.")]
Unneeded = Annotated[str | None, Field(json_schema_extra={HIDDEN: True})]
