"""Identity of an embedding model."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Fingerprint(BaseModel):
    """Identifies a model. Two embedders with equal fingerprints give interchangeable vectors. `token_limit` 0 means none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    revision: str
    dimension: Annotated[int, Field(ge=1)]
    precision: str
    token_limit: Annotated[int, Field(ge=0)]
    preparation: str
