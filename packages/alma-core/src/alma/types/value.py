"""The base of ALMA's values."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value: it cannot be changed, and names no field that it does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid")
