"""Identity of an embedding model."""

from typing import Annotated

from pydantic import Field

from alma.types.value import Value


class Fingerprint(Value):
    """Identifies a model. Two embedders with equal fingerprints give interchangeable vectors. `token_limit` 0 means none."""

    model: str
    revision: str
    dimension: Annotated[int, Field(ge=1)]
    precision: str
    token_limit: Annotated[int, Field(ge=0)]
    preparation: str
