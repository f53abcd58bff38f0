"""The base of ALMA's values, and how they are read from JSON."""

from typing import TypeVar

import pydantic
from pydantic import BaseModel, ConfigDict

from alma.errors import ValidationError


class Value(BaseModel):
    """A frozen value: it cannot be changed, and names no field that it does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ModelT = TypeVar("ModelT", bound=pydantic.BaseModel)


def read_json(model: type[ModelT], data: str | bytes, what: str) -> ModelT:
    """Reads a value from JSON text. `ValidationError` states the first fault."""
    try:
        return model.model_validate_json(data)
    except pydantic.ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:60] for part in fault["loc"][:10])
        raise ValidationError(
            f"this is not {what} as `to_json` writes it: {place}{': ' if place else ''}{fault['msg'][:200]}"
        ) from error
